// Pages of lists: their size, the links to the first and next page, and the cursor that marks the end of a page.
import type { PageEnd } from '../values/page.js';
import { MAX_INTEGER, PAGE_LIMIT } from './limits.js';
import { OPEN } from './openapi/openapi-components.js';
import { refused } from './problems.js';
import { Link } from './schemas.js';
import { Type } from './typebox.js';

export const Limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: PAGE_LIMIT, default: PAGE_LIMIT, description: 'How many on a page.' }),
);

/** A page's end in base64 that is safe in a URL. */
export const CURSOR_PATTERN = '^[A-Za-z0-9_-]+$';

export const After = Type.Optional(
  Type.String({
    maxLength: 400,
    pattern: CURSOR_PATTERN,
    description: 'Part of `_links.next`: where the page before ended.',
  }),
);

export const ListLinks = Type.Object(
  { first: Link, next: Type.Optional(Link) },
  { title: 'ListLinks', ...OPEN },
);

/** `first`, and `next` if there is more; both keep the query's filters. `further`: extra parameters for the next page. */
export function listLinks(path: string, query: object, end: PageEnd | undefined, further: object = {}) {
  const { offset: _offset, after: _after, ...filters } = query as Record<string, unknown>;
  const href = (extra: object) => {
    const parameters = new URLSearchParams(
      Object.entries({ ...filters, ...extra }).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]),
    ).toString();
    return { href: parameters === '' ? path : `${path}?${parameters}` };
  };
  return { first: href({}), ...(end !== undefined && { next: href({ ...further, after: encodeEnd(end) }) }) };
}

function encodeEnd({ place, id }: PageEnd): string {
  return Buffer.from(JSON.stringify([place, id])).toString('base64url');
}

/** A cursor that was not made here is refused. */
export function decodeEnd(after: string | undefined, places = /^[ -~]*$/): PageEnd | undefined {
  if (after === undefined) return undefined;
  try {
    const [place, id] = JSON.parse(Buffer.from(after, 'base64url').toString('latin1')) as unknown[];
    if (
      typeof place === 'string' &&
      places.test(place) &&
      Number.isInteger(id) &&
      (id as number) >= 0 &&
      (id as number) <= MAX_INTEGER
    ) {
      return { place, id: id as number };
    }
  } catch {
    // Refused below.
  }
  throw refused('field_format', ['query', 'after']);
}
