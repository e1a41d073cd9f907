// The API's addresses: their methods, the pattern under which each is logged, and how a request's target is parsed.
import { parse } from 'node:querystring';
import { BASE_PATH } from './operations/hal.js';

interface Route {
  readonly method: string;
  /** Below the base path; parameters in braces. */
  readonly route: string;
}

/** As the router and the log write it: `/v1/transactions/:audit`. */
export function patternOf(route: string): string {
  return BASE_PATH + route.replaceAll(/\{(\w+)\}/g, ':$1');
}

const CREATING = `${BASE_PATH}/transactions`;

/** Decided before the request is read: every POST to these addresses creates a transaction. */
export function createsTransaction({
  method,
  url,
}: {
  method?: string | undefined;
  url?: string | undefined;
}): boolean {
  return method === 'POST' && url?.startsWith(CREATING) === true;
}

/** For the Allow header. */
export function allowed(methods: readonly string[]): string {
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(
    ', ',
  );
}

export class Addresses {
  readonly methods: readonly string[];
  /** The methods of each address without parameters. */
  readonly literal: ReadonlyMap<string, readonly string[]>;
  readonly #known;

  constructor(routes: readonly Route[]) {
    this.methods = routes.map(({ method }) => method);
    const literal = routes.filter(({ route }) => !route.includes('{'));
    this.literal = new Map(
      literal.map(({ route }) => [
        patternOf(route),
        literal.filter((other) => other.route === route).map(({ method }) => method),
      ]),
    );
    this.#known = routes.map(({ method, route }) => ({
      method,
      pattern: patternOf(route),
      literal: !route.includes('{'),
      path: new RegExp(`^${BASE_PATH}${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    }));
  }

  methodsAt(target: string): readonly string[] {
    return this.#at(target).map(({ method }) => method);
  }

  /** For the log, because an address can contain anything. */
  patternAt(target: string): string {
    return this.#at(target)[0]?.pattern ?? 'unknown';
  }

  #at(target: string) {
    const [path = ''] = originForm(target).split('?');
    const matching = this.#known.filter((known) => known.path.test(path));
    // As in routing, /transactions/purchase is an address of its own, and not an audit called "purchase".
    const literal = matching.filter((known) => known.literal);
    return literal.length > 0 ? literal : matching;
  }
}

const SLASH = 47;
const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** Removes scheme and host, which a client sends if it takes us for a proxy. */
export function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target;
  const path = target.replace(ORIGIN, '');
  return path === target || path.startsWith('/') ? path : `/${path}`;
}

/** Text that cannot be decoded becomes a character that no field accepts, so the field is refused. */
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
