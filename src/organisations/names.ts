// What organisations and merchants may be called, and the host names of organisations.
import { containsCardNumber } from '../values/card.js';
import { refuse } from '../values/refusal.js';
import { isRestricted } from '../values/text.js';

/** The name, if it may be one. */
export function checkedName(name: string): string {
  if (name.length < 1 || name.length > 60 || !isRestricted(name) || containsCardNumber(name)) {
    refuse('name_not_allowed');
  }
  return name;
}

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const HOST_NAME = new RegExp(`^(?:${LABEL}\\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$`);

/** In lower case, if it may be one. */
export function checkedHostName(name: string): string {
  const host = name.toLowerCase();
  if (host.length > 253 || !HOST_NAME.test(host) || containsCardNumber(host)) refuse('host_name_not_allowed');
  return host;
}
