// The plugins, in the order in which they apply. To add one, add a file here and an entry to the list.
import { register } from './contract.js';
import { SURCHARGE } from './surcharge.js';

export const PLUGINS = [register(SURCHARGE)];
