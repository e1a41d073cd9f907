// The console on the operators' listener: each request goes the same way, whatever its route. Where was it made, who makes it, may they,
// what do they send; only then is the route called.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Check, checker } from '../api/validation.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { journal } from '../journal/journal.js';
import { isAtLeast } from '../operators/operator-roles.js';
import { findSession, type Session, seeSession } from '../operators/sessions.js';
import type { Database } from '../postgres/database.js';
import { readJson, withFile } from './body.js';
import { deviceIn, keptIn, sessionCookie, tokenIn } from './cookies.js';
import { checkFence } from './fence.js';
import { type Match, RouteTable } from './matching.js';
import { checkOrigin, isSafe, originOf } from './origin.js';
import type { PageFiles } from './page-files.js';
import type { ConsoleParts } from './parts.js';
import { ConsoleProblem, type ErrorAnswer, errorAnswer, INTERNAL_ERROR } from './problems.js';
import { sendDownload, sendError, sendJson, sendOnward, sendRedirect } from './responses.js';
import {
  type Call,
  Download,
  EventStream,
  needs,
  Onward,
  type OpenCall,
  type Operator,
  Redirect,
  type Route,
} from './route.js';
import { Streams } from './streams.js';

/** What the page asks for lies here. */
export const API_PATH = '/console/api';
/** With it the page says that nobody has touched anything: the session is not kept alive by it. */
const OVERREACHING: readonly string[] = ['role_not_sufficient', 'organisation_not_permitted'];
const BACKGROUND_HEADER = 'tollgate-background';

export class ConsoleSite {
  readonly #table: RouteTable;
  readonly #checks = new Map<Route, Check>();
  readonly #streams = new Streams();

  constructor(
    private readonly parts: ConsoleParts,
    private readonly files: PageFiles,
    readonly routes: readonly Route[],
  ) {
    this.#table = new RouteTable(routes);
    for (const route of routes) this.#checks.set(route, checker('body', route.options.body));
  }

  /** Always answers, and never throws. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? '';
    const url = request.url ?? '/';
    const path = url.split('?', 1)[0] as string;
    try {
      if (path === API_PATH || path.startsWith(`${API_PATH}/`))
        await this.#answerApi(method, path.slice(API_PATH.length), request, response);
      else if (method === 'GET' || method === 'HEAD') this.files.answer(path, request, response);
      else throw new ConsoleProblem('route_not_found');
    } catch (error) {
      this.#fail(error, request, response);
    }
  }

  /** Pages that watch are told to come back. */
  close(): void {
    this.#streams.close();
  }

  async #answerApi(
    method: string,
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const origin = originOf(request, this.parts);
    if (!isSafe(origin)) throw new ConsoleProblem('connection_not_safe');
    const match = this.#table.find(method, path);
    if (!('fromElsewhere' in match.route.options && match.route.options.fromElsewhere))
      checkOrigin(request, origin);
    const address = this.parts.clientAddresses.of(request);
    const database = this.#databaseFor(address);
    const session = await this.#sessionOf(request, origin, database);
    const operator = await admitted(match.route, session, database);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const call: OpenCall = {
      params: match.params,
      query: queryOf(request),
      body: undefined,
      database,
      parts: this.parts,
      address,
      agent: request.headers['user-agent'] ?? '',
      device: deviceIn(request, origin),
      kept: keptIn(request, origin),
      origin,
      cookie: sessionCookie(request, response, origin),
      signal: gone.signal,
      session,
    };
    const isByItself =
      request.headers[BACKGROUND_HEADER] !== undefined ||
      ('background' in match.route.options && match.route.options.background === true);
    if (session !== undefined && !session.seenLately && !isByItself) await seeSession(database, session);
    await this.#withBody(match, request, async (body) => {
      const result = await run(match.route, { ...call, body }, operator);
      await this.#send(result, call, request, response);
    });
  }

  /** What is done through it is journalled with the address. */
  #databaseFor(address: string): Database {
    const database = this.parts.database.withOwnOrigin();
    setSigner(database, new EntrySigner(this.parts.journalKey, address));
    return database;
  }

  async #sessionOf(
    request: IncomingMessage,
    origin: string,
    database: Database,
  ): Promise<Session | undefined> {
    const token = tokenIn(request, origin);
    return token === undefined ? undefined : findSession(database, this.parts.key, token);
  }

  async #withBody(
    { route }: Match,
    request: IncomingMessage,
    work: (body: unknown) => Promise<void>,
  ): Promise<void> {
    const { options } = route;
    if (options.method === 'GET') return work(undefined);
    if ('fileBytes' in options && options.fileBytes !== undefined)
      return withFile(request, options.fileBytes, work);
    return work(await readJson(request, this.#checks.get(route) as Check));
  }

  async #send(
    result: unknown,
    call: OpenCall,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (result instanceof Download) return sendDownload(response, result);
    if (result instanceof Redirect) return sendRedirect(response, result);
    if (result instanceof Onward) return sendOnward(response, result);
    if (!(result instanceof EventStream)) return sendJson(request, response, 200, result);
    const token = tokenIn(request, call.origin) as string;
    await this.#streams.send(response, result, {
      session: (call.session as Session).tag.toString('hex'),
      goesOn: async () => (await findSession(call.database, this.parts.key, token)) !== undefined,
    });
  }

  #fail(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    const { method = '' } = request;
    let said: ErrorAnswer | undefined = errorAnswer(error, method);
    if (said === undefined && !request.destroyed && !response.destroyed) {
      this.parts.log.error(
        { err: error, path: request.url?.split('?', 1)[0] },
        'a request of the console failed',
      );
    }
    said ??= INTERNAL_ERROR;
    const retryAfter = error instanceof ConsoleProblem ? error.retryAfter : undefined;
    sendError(request, response, said, retryAfter);
  }
}

/** What a role or an organisation does not allow is journalled, as it is for commands. */
async function admitted(
  route: Route,
  session: Session | undefined,
  database: Database,
): Promise<Operator | undefined> {
  try {
    return admit(route, session);
  } catch (error) {
    if (session !== undefined && error instanceof ConsoleProblem && OVERREACHING.includes(error.code))
      await journal(database, {
        actor: `operator:${session.operator.name}`,
        action: 'operator.refused',
        organisationId: session.operator.organisationId ?? undefined,
        detail: `${route.options.method} ${route.options.path}`,
      });
    throw error;
  }
}

/** Throws unless whoever has this session may call the route at all. */
function admit({ kind, options }: Route, session: Session | undefined): Operator | undefined {
  if (kind === 'open') {
    if (options.for === 'enrolling' && session?.stage !== 'enrolling')
      throw new ConsoleProblem('not_signed_in');
    return undefined;
  }
  if (session?.stage !== 'signed_in') throw new ConsoleProblem('not_signed_in');
  const { name, role, organisationId } = session.operator;
  const needed = needs(options);
  if (!isAtLeast(role, needed.role)) throw new ConsoleProblem('role_not_sufficient');
  if (needed.isOfInstallation && organisationId !== null)
    throw new ConsoleProblem('organisation_not_permitted');
  // The demo's operator has nothing to prove it with.
  if (options.recent && !session.provedLately && session.method !== 'demo')
    throw new ConsoleProblem('authentication_not_recent');
  return { name, role, organisation: organisationId ?? undefined };
}

async function run(route: Route, call: OpenCall, operator: Operator | undefined): Promise<unknown> {
  if (route.kind === 'open') return route.handle(call);
  const { name, organisation: fence } = operator as Operator;
  await checkFence(call.database, fence, call);
  const closed = { ...call, operator, actor: `operator:${name}`, fence } as Call;
  return route.handle(closed);
}

function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
  for (const [name, value] of query)
    if (`${name}${value}`.includes('\0')) throw new ConsoleProblem('field_charset', ['query']);
  return query;
}
