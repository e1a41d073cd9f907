// The characters that strings of the API may hold.

// Every pattern is also valid with the `u` flag, since JSON schema validators compile with it.

/** Letters, digits, space and punctuation; without quotes and backslash, on purpose. */
export const RESTRICTED_PATTERN = '^[A-Za-z0-9 !#$%&()*+,\\-./:;<=>?@\\[\\]\\^_`{|}~]*$';

export const CORRELATION_ID_PATTERN = '^[a-zA-Z0-9\\+\\-_:\\.,]*$';

export const CORRELATION_ID_MAX_LENGTH = 128;

export const KVP_REQUEST_PREFIX = 'GATEWAY.REQUEST.KVP.';
export const KVP_RESPONSE_PREFIX = 'GATEWAY.RESPONSE.KVP.';

export const KVPS_AT_MOST = 100;
export const KVP_KEY_MAX_LENGTH = 64;
/** The longest value that is stored. */
export const KVP_VALUE_MAX_LENGTH = 1_024;

const PREFIX = KVP_REQUEST_PREFIX.replaceAll('.', '\\.');
/** With or without the prefix. The prefix alone is an empty key, although its characters are allowed in keys. */
export const KVP_KEY_PATTERN = `^(?!(${PREFIX})+$)(${PREFIX})?[a-zA-Z0-9_.]{1,${KVP_KEY_MAX_LENGTH}}$`;

/** Characters that an address may have unescaped, so that it breaks no header and no page. */
export const WEB_ADDRESS_PATTERN = "^https?://[A-Za-z0-9\\-._~:/?#\\[\\]@!$&'()*+,;=%]+$";
export const WEB_ORIGIN_PATTERN = '^https?://[a-z0-9.\\-\\[\\]:]+$';

/** A page's address, without a user name. */
export function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, hostname } = new URL(text);
  return username === '' && password === '' && hostname !== '';
}

/** As browsers name it: without a path, and without the usual port. */
export function isWebOrigin(text: string): boolean {
  return isWebAddress(text) && new URL(text).origin === text;
}

const restricted = new RegExp(RESTRICTED_PATTERN);
const correlationId = new RegExp(CORRELATION_ID_PATTERN);

export function isRestricted(text: string): boolean {
  return restricted.test(text);
}

export function isCorrelationId(text: string): boolean {
  return text.length >= 1 && text.length <= CORRELATION_ID_MAX_LENGTH && correlationId.test(text);
}

/** Strips the request prefix, however often it is there: a key with it is the same key as without. */
export function bareKvpKey(key: string): string {
  let bare = key;
  while (bare.startsWith(KVP_REQUEST_PREFIX)) bare = bare.slice(KVP_REQUEST_PREFIX.length);
  return bare;
}
