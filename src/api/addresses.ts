// Which route an address leads to: the pattern under which it is logged, its methods and parameters, and how a request's target is read.
import { parse } from 'node:querystring';
import { BASE_PATH } from './operations/hal.js';

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

interface Node<Route> {
  readonly literal: Map<string, Node<Route>>;
  /** Any other segment is the value of this parameter. */
  parameter: { readonly name: string; readonly node: Node<Route> } | undefined;
  pattern: string;
  readonly byMethod: Map<string, Route>;
}

type Parameters = Readonly<Record<string, string>>;

interface Found<Route> {
  readonly node: Node<Route>;
  readonly parameters: Parameters;
}

/** Names come from the patterns alone. */
const NONE: Parameters = Object.freeze({});

export class Addresses<Route> {
  readonly #root = newNode<Route>();
  /** Those without parameters, which most requests go to. */
  readonly #literal = new Map<string, Found<Route>>();
  readonly #methods = new Set<string>();

  /** Methods of any route. */
  get methods(): readonly string[] {
    return [...this.#methods];
  }

  add(method: string, pattern: string, route: Route): void {
    let node = this.#root;
    for (const segment of segmentsOf(pattern)) {
      if (segment.startsWith(':')) {
        node.parameter ??= { name: segment.slice(1), node: newNode() };
        node = node.parameter.node;
      } else {
        const next = node.literal.get(segment) ?? newNode<Route>();
        node.literal.set(segment, next);
        node = next;
      }
    }
    node.pattern = pattern;
    node.byMethod.set(method, route);
    this.#methods.add(method);
    if (!pattern.includes(':')) this.#literal.set(pattern, { node, parameters: NONE });
  }

  /** Undefined if nothing is there, or not with this method. Throws if the path cannot be decoded. */
  find(method: string, path: string): { readonly route: Route; readonly parameters: Parameters } | undefined {
    const found = this.#at(path);
    const route = found?.node.byMethod.get(method);
    return found && route && { route, parameters: found.parameters };
  }

  methodsAt(path: string): readonly string[] {
    return [...(this.#at(path)?.node.byMethod.keys() ?? [])];
  }

  /** For the log, because an address can contain anything. */
  patternAt(target: string): string {
    try {
      return this.#at(splitTarget(target).path)?.node.pattern ?? 'unknown';
    } catch {
      return 'unknown';
    }
  }

  /** /transactions/purchase is an address of its own, and not an audit called "purchase". */
  #at(path: string): Found<Route> | undefined {
    return this.#literal.get(path) ?? below(this.#root, segmentsOf(path), 0, NONE);
  }
}

function newNode<Route>(): Node<Route> {
  return { literal: new Map(), parameter: undefined, pattern: '', byMethod: new Map() };
}

const segmentsOf = (path: string) => path.split('/').slice(1);

function below<Route>(
  node: Node<Route>,
  segments: readonly string[],
  at: number,
  parameters: Parameters,
): Found<Route> | undefined {
  if (at === segments.length) return node.byMethod.size === 0 ? undefined : { node, parameters };
  const sent = segments[at] as string;
  const segment = sent.includes('%') ? decodeURIComponent(sent) : sent;
  const next = node.literal.get(segment);
  const found = next && below(next, segments, at + 1, parameters);
  if (found !== undefined || node.parameter === undefined) return found;
  const { name, node: other } = node.parameter;
  return below(other, segments, at + 1, { ...parameters, [name]: segment });
}

/** A `#` ends the path as well, although no client should send one. */
const END_OF_PATH = /[?#]/;

export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const whole = originForm(target);
  const end = whole.search(END_OF_PATH);
  return end === -1 ? { path: whole, query: '' } : { path: whole.slice(0, end), query: whole.slice(end + 1) };
}

const SLASH = 47;
const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** Removes scheme and host, which a client sends if it takes us for a proxy. */
function originForm(target: string): string {
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
