// Which route a path leads to, and what stands where the route has names.
import { ConsoleProblem } from './problems.js';
import type { Route } from './route.js';

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

interface Compiled {
  readonly route: Route;
  readonly pattern: RegExp;
}

export class RouteTable {
  readonly #compiled: readonly Compiled[];

  constructor(routes: readonly Route[]) {
    const known = new Set<string>();
    this.#compiled = routes.map((route) => {
      const { method, path } = route.options;
      const shape = `${method} ${path.replaceAll(/:[a-z]+/gi, ':')}`;
      if (known.has(shape)) throw new Error(`two routes are ${method} ${path}`);
      known.add(shape);
      return { route, pattern: new RegExp(`^${path.replaceAll(/:([a-z]+)/gi, '(?<$1>[^/]+)')}$`) };
    });
  }

  /** Throws where there is none, and where it is there for another method. */
  find(method: string, path: string): Match {
    const fitting = this.#compiled.filter(({ pattern }) => pattern.test(path));
    // Words come before names: `/sessions/mine` before `/sessions/:id`.
    const found = fitting
      .filter(({ route }) => route.options.method === method)
      .sort((one, other) => colons(one.route) - colons(other.route))[0];
    if (found === undefined)
      throw new ConsoleProblem(fitting.length > 0 ? 'method_not_allowed' : 'route_not_found');
    const named = found.pattern.exec(path)?.groups ?? {};
    const params = Object.entries(named).map(([name, text]) => [name, decoded(text)] as const);
    return { route: found.route, params: Object.fromEntries(params) };
  }
}

function colons({ options }: Route): number {
  return options.path.split(':').length;
}

function decoded(text: string): string {
  try {
    const plain = decodeURIComponent(text);
    if (!plain.includes('\0')) return plain;
  } catch {
    // No text at all.
  }
  throw new ConsoleProblem('route_not_found');
}
