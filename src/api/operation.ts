// What an operation of the interface is: one entry gives the route, the checks and the documentation.

import type { Caller } from '../merchants/callers.js';
import type { InFlightRequest } from '../transactions/search-fence.js';
import type { Problem, ProblemCode } from './problems.js';
import type { Static, TObject, TSchema } from './typebox.js';
import { type Check, checker } from './validation.js';

export interface Checked<Path, Query, Body> {
  readonly caller: Caller;
  readonly correlationId: string;
  /** Of an operation that creates a transaction. */
  readonly inFlight: InFlightRequest | undefined;
  readonly path: Path;
  readonly query: Query;
  readonly body: Body;
}

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly location?: string;
  /** For the log. */
  readonly audit?: number;
  readonly merchantId?: number;
  readonly outcome?: string;
}

export type Tag = 'Transactions' | 'Customers' | 'Tokens';

interface Success {
  readonly status: number;
  readonly description: string;
  readonly schema?: TSchema;
  /** Whether the answer has the header `Location`. */
  readonly located?: true;
}

interface Definition<Services, Path extends TObject, Query extends TObject, Body extends TSchema> {
  /** Becomes the name of a function in generated clients: no word that a language keeps for itself. */
  readonly id: string;
  readonly tag: Tag;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base path; parameters in braces. */
  readonly route: string;
  readonly summary: string;
  readonly description: string;
  readonly path?: Path;
  readonly query?: Query;
  readonly body?: Body;
  /** What a schema cannot say about the body: takes the problems that the schema found and returns those that count. It must expect any body. */
  readonly reviewBody?: (body: unknown, problems: Problem[]) => Problem[];
  readonly success: Success;
  /** A second way to succeed. */
  readonly alsoSuccess?: Success;
  readonly faults: readonly ProblemCode[];
  /** Whether the correlation ID makes it idempotent. */
  readonly creates?: boolean;
  readonly example?: unknown;
  handle(request: Checked<Static<Path>, Static<Query>, Static<Body>>, services: Services): Promise<Reply>;
}

export interface Operation<Services> extends Definition<Services, TObject, TObject, TSchema> {
  readonly checkPath: Check;
  readonly checkQuery: Check;
  readonly checkBody: Check;
}

const NOTHING: Check = () => [];
const UNCHANGED = (_body: unknown, problems: Problem[]) => problems;

export function operation<
  Services,
  Path extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
>(definition: Definition<Services, Path, Query, Body>): Operation<Services> {
  const { path, query, body, reviewBody = UNCHANGED } = definition;
  const checkBody = body ? checker('body', body) : NOTHING;
  return {
    ...(definition as unknown as Definition<Services, TObject, TObject, TSchema>),
    checkPath: path ? checker('path', path) : NOTHING,
    checkQuery: query ? checker('query', query) : NOTHING,
    checkBody: (value) => reviewBody(value, checkBody(value)),
  };
}
