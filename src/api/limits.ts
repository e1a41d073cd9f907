// The limits of the interface that more than one place has to know. docs/ names them too, and a test compares.

/** 100 KVPs of full length fit. */
export const BODY_LIMIT_BYTES = 128 * 1024;
/** A request whose headers, or which itself, has not arrived whole after this long is cut off. */
export const HEADERS_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 10_000;

/** Identifiers and audits are integers of PostgreSQL. */
export const MAX_INTEGER = 2_147_483_647;

/** How many customers or tokens a page holds: at most, and where the client does not say. */
export const PAGE_LIMIT = 100;
