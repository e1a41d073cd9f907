// The plugins in the order in which they apply. A further one is a file beside this one and its entry in the list.
import { register } from './contract.js';
import { SURCHARGE } from './surcharge.js';

export const PLUGINS = [register(SURCHARGE)];
