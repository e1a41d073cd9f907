// Limits of the API that several places need. docs/ names them too, and a test compares.

/** Enough for 100 KVPs of full length. */
export const BODY_LIMIT_BYTES = 128 * 1024;
/** A request is cut off if its headers, or all of it, have not arrived by then. */
export const HEADERS_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 10_000;

/** IDs and audits are PostgreSQL integers. */
export const MAX_INTEGER = 2_147_483_647;

/** The most customers or tokens on a page; also the default. */
export const PAGE_LIMIT = 100;
