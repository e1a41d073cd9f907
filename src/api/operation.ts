// What an operation of the interface is: one entry gives the route, the checks and the documentation.
import type { Audit, MerchantId } from '../values/ids.js';
import { type Problem, type ProblemCode, refusedFor } from './problems.js';
import {
  type AuthenticatedRequest,
  type CheckedRequest,
  checked,
  correlationIdProblems,
} from './request-context.js';
import type { Static, TObject, TSchema } from './typebox.js';
import { type Check, checker, reader } from './validation.js';

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly location?: string;
  /** For the log. */
  readonly audit?: Audit;
  readonly merchantId?: MerchantId;
  readonly outcome?: string;
}

export type Tag = 'Transactions' | 'Settlements' | 'Customers' | 'Tokens' | 'Events';

interface Success {
  readonly status: number;
  readonly description: string;
  readonly schema?: TSchema;
  /** Whether the answer has the header `Location`. */
  readonly located?: true;
}

interface Description<Path, Query, Body> {
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
  readonly success: Success;
  /** A second way to succeed. */
  readonly alsoSuccess?: Success;
  /** Beside those that any operation may answer. */
  readonly problems: readonly ProblemCode[];
  /** Whether it creates a transaction: the correlation ID makes it idempotent. */
  readonly creates?: boolean;
  /** Whether it may hold its answer back: it is told when its client has gone. */
  readonly waits?: boolean;
  readonly example?: unknown;
}

interface Definition<Services, Path extends TObject, Query extends TObject, Body extends TSchema>
  extends Description<Path, Query, Body> {
  /** What a schema cannot say about the body: takes the problems that the schema found and returns those that count. It must expect any body. */
  readonly reviewBody?: (body: unknown, problems: Problem[]) => Problem[];
  handle(
    request: CheckedRequest<Static<Path>, Static<Query>, Static<Body>>,
    services: Services,
  ): Promise<Reply>;
}

/** The parts of a request as they came. */
export interface UncheckedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export interface Operation<Services> extends Description<TObject, TObject, TSchema> {
  readonly checkBody: Check;
  /** Checks the request and handles it. Throws a refusal that names all of its problems, wherever they are. */
  answer(context: AuthenticatedRequest, request: UncheckedRequest, services: Services): Promise<Reply>;
}

const UNCHANGED = (_body: unknown, problems: Problem[]) => problems;

export function operation<
  Services,
  Path extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
>(definition: Definition<Services, Path, Query, Body>): Operation<Services> {
  const { reviewBody = UNCHANGED, handle, ...description } = definition;
  const { path: pathSchema, query: querySchema, body: bodySchema } = description;
  const readPath = reader(pathSchema);
  const readQuery = reader(querySchema);
  const checkPath = checker('path', pathSchema);
  const checkQuery = checker('query', querySchema);
  const checkSchema = checker('body', bodySchema);
  const checkBody: Check = (value) => reviewBody(value, checkSchema(value));
  return {
    ...description,
    checkBody,
    answer(context, { headers, params, query: sentQuery, body }, services) {
      const path = readPath(params);
      const query = readQuery(sentQuery);
      const ofPath = checkPath(path);
      const ofQuery = checkQuery(query);
      const ofBody = checkBody(body);
      const { correlationId } = context;
      if (correlationId === undefined || ofPath.length + ofQuery.length + ofBody.length > 0) {
        const ofCorrelationId = correlationId === undefined ? correlationIdProblems(headers) : [];
        throw refusedFor([...ofCorrelationId, ...ofPath, ...ofQuery, ...ofBody]);
      }
      // Here, and nowhere else, what was checked by a schema gets the type of that schema.
      return handle(
        checked(context, correlationId, path as Static<Path>, query as Static<Query>, body as Static<Body>),
        services,
      );
    },
  };
}
