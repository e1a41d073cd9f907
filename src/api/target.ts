// The target of a request: its two forms, and what cannot be decoded in its query.
import { parse } from 'node:querystring';

const SLASH = 47;
const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** Without scheme and host, which a client that takes us for a proxy sends along. */
export function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target;
  const path = target.replace(ORIGIN, '');
  return path === target || path.startsWith('/') ? path : `/${path}`;
}

/** What cannot be decoded becomes a character that no field may have: it is refused where it stands. */
export function parseQuery(query: string): Record<string, unknown> {
  return parse(query, '&', '=', { decodeURIComponent: decoded });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '\uFFFD';
  }
}
