// The console on the operators' listener, on Fastify. Each request passes the same checks in the same order: origin, session, role,
// body, fence. Only then is the route called.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import cookies from '@fastify/cookie';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Check, checker } from '../api/validation.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { isAtLeast } from '../operators/operator-roles.js';
import { findSession, type Session, seeSession } from '../operators/sessions.js';
import type { Database } from '../postgres/database.js';
import { secretsWereUsed } from '../values/traces-of-secrets.js';
import { withBody } from './body.js';
import { cookiesOf } from './cookies.js';
import { checkFence } from './fence.js';
import { HEADERS, STAY_WITH_TLS } from './headers.js';
import { NO_SCHEMAS } from './no-schemas.js';
import { checkOrigin, isSafe, originOf } from './origin.js';
import { addPageFiles, type PageFiles } from './page-files.js';
import type { ConsoleParts } from './parts.js';
import { ConsoleProblem, errorAnswer, INTERNAL_ERROR } from './problems.js';
import { ReadLimits } from './read-limits.js';
import { RefusalJournal } from './refusal-journal.js';
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

/** The page calls the interface below this path. */
const API_PATH = '/console/api';
/** The page sends this header with its automatic requests. They do not keep the session alive. */
const BACKGROUND_HEADER = 'tollgate-background';
const OVERREACHING: readonly string[] = ['role_not_sufficient', 'organisation_not_permitted'];
const JSON_TYPE = 'application/json; charset=utf-8';

export class ConsoleSite {
  readonly #streams = new Streams();
  readonly #reads = new ReadLimits();
  readonly #refusals = new RefusalJournal((error) =>
    this.parts.log.error({ err: error }, 'refused tasks could not be journalled'),
  );
  #app: FastifyInstance | undefined;
  #opening: Promise<FastifyInstance> | undefined;

  constructor(
    private readonly parts: ConsoleParts,
    private readonly files: PageFiles,
    private readonly routes: readonly Route[],
  ) {}

  /** Always answers, and never throws. */
  answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.#app !== undefined) return void this.#app.routing(request, response);
    // The routes are registered at the first request, so that they do not slow the gateway's start.
    this.#opening ??= this.#open();
    void this.#opening.then((app) => app.routing(request, response));
  }

  /** Ends all event streams. The pages connect again. */
  async close(): Promise<void> {
    this.#streams.close();
    await this.#refusals.close();
  }

  async #open(): Promise<FastifyInstance> {
    const app = Fastify({
      exposeHeadRoutes: false,
      schemaController: NO_SCHEMAS,
      routerOptions: { maxParamLength: 16_384 },
      rewriteUrl: addressOf,
    });
    // Bodies are read in #answer, after the sender has been admitted.
    for (const method of app.supportedMethods)
      app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
    app.addHook('onRequest', (request, reply, done) => {
      secretsWereUsed();
      const isFile = !request.is404 && !request.url.startsWith(API_PATH);
      const stayWithTls = !isFile && request.socket instanceof TLSSocket && STAY_WITH_TLS;
      // Set on Node's response, because downloads and streams are written to it directly.
      for (const [name, value] of Object.entries({ ...HEADERS, ...stayWithTls }))
        reply.raw.setHeader(name, value);
      done();
    });
    app.register(cookies);
    app.register(async (pages) => addPageFiles(pages, this.files));
    app.register(async (api) => this.#addRoutes(api), { prefix: API_PATH });
    app.setNotFoundHandler(() => {
      throw new ConsoleProblem('route_not_found');
    });
    app.setErrorHandler((error, request, reply) => this.#fail(error, request, reply));
    await app.ready();
    this.#app = app;
    return app;
  }

  #addRoutes(api: FastifyInstance): void {
    const paths = this.routes.map(({ options }) => options.path.replaceAll(/:[a-z]+/gi, '[^/]+'));
    const known = new RegExp(`^${API_PATH}(?:${paths.join('|')})$`);
    api.addHook('onRequest', async (request) => {
      if (!isSafe(originOf(request.raw, this.parts))) throw new ConsoleProblem('connection_not_safe');
      // Fastify would also accept escaped letters in a word of the path, and an empty parameter.
      if (!known.test(pathOf(request.url))) throw new ConsoleProblem('route_not_found');
      if (request.is404) throw new ConsoleProblem('method_not_allowed');
    });
    // With a handler of its own, the hook above also runs for unknown paths.
    api.setNotFoundHandler(() => {});
    for (const route of this.routes) {
      const { method, path, body } = route.options;
      const check = checker('body', body);
      api.route({
        method,
        url: path,
        handler: (request, reply) =>
          this.#answer(route, check, request, reply).catch((error) => this.#fail(error, request, reply)),
      });
    }
  }

  async #answer(route: Route, check: Check, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const gone = new AbortController();
    if (reply.raw.destroyed) gone.abort();
    reply.raw.once('close', () => gone.abort());
    const origin = originOf(request.raw, this.parts);
    if (!('fromElsewhere' in route.options && route.options.fromElsewhere)) checkOrigin(request.raw, origin);
    const { key, settings } = this.parts;
    const address = this.parts.clientAddresses.of(request.raw);
    const database = this.#databaseFor(this.parts.database, address);
    const { token, ...cookies } = cookiesOf(request, reply, origin);
    const find = async () =>
      token === undefined ? undefined : findSession(database, key, token, settings.sessionIdleMs);
    const session = await find();
    const operator = await this.#admitted(route, session, database);
    const call = {
      params: request.params as object,
      query: queryOf(request),
      // guard(console: a read ends with its asker): .until(gone.signal) ⇒
      database: isRead(route)
        ? this.#databaseFor(this.parts.readDatabase, address).until(gone.signal)
        : database,
      parts: this.parts,
      address,
      agent: request.headers['user-agent'] ?? '',
      ...cookies,
      origin,
      signal: gone.signal,
      session,
    };
    const isByItself =
      request.headers[BACKGROUND_HEADER] !== undefined ||
      ('background' in route.options && route.options.background === true);
    if (session !== undefined && !session.seenLately && !isByItself) await seeSession(database, key, session);
    await withBody(route, check, request.raw, async (body) => {
      if (isRead(route)) gone.signal.throwIfAborted();
      const end =
        isRead(route) && operator ? this.#reads.begin(operator.name, route.options.long === true) : () => {};
      let result: unknown;
      try {
        result = await run(route, { ...call, body }, operator);
        if (!(result instanceof EventStream)) return await send(result, reply);
      } finally {
        end();
      }
      await this.#streams.send(reply.raw, result, {
        session: (session as Session).tag.toString('hex'),
        goesOn: async () => (await find()) !== undefined,
      });
    });
  }

  /** Refusals because of the role or the organisation are journalled, as they are for commands. */
  async #admitted(
    route: Route,
    session: Session | undefined,
    database: Database,
  ): Promise<Operator | undefined> {
    try {
      return admit(route, session);
    } catch (error) {
      if (session !== undefined && error instanceof ConsoleProblem && OVERREACHING.includes(error.code))
        await this.#refusals.note(database, {
          operator: session.operator.name,
          organisationId: session.operator.organisationId ?? undefined,
          task: `${route.options.method} ${route.options.path}`,
        });
      throw error;
    }
  }

  /** Journal entries made through this database carry the address of the request. */
  #databaseFor(sessions: Database, address: string): Database {
    const database = sessions.withOwnOrigin();
    setSigner(database, new EntrySigner(this.parts.journalKey, address, this.parts.seals));
    return database;
  }

  #fail(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request;
    const said = errorAnswer(error, request.method);
    if (said === undefined && !raw.destroyed && !reply.raw.destroyed)
      this.parts.log.error({ err: error, path: pathOf(request.url) }, 'a request of the console failed');
    if (reply.raw.headersSent) {
      // The status is out already: a cut connection tells the browser that the answer is incomplete.
      reply.raw.destroy();
      return;
    }
    const { status, body } = said ?? INTERNAL_ERROR;
    if (error instanceof ConsoleProblem && error.retryAfter !== undefined)
      reply.header('retry-after', String(error.retryAfter));
    // The rest of the body is discarded.
    if (!raw.complete) reply.header('connection', 'close');
    reply.code(status).header('content-type', JSON_TYPE).send(JSON.stringify(body));
    if (!raw.complete) raw.resume();
  }
}

/** Paths outside the interface and the files show the page, which has its own routes. Paths that cannot be decoded are answered 404. */
function addressOf({ url = '/' }: IncomingMessage): string {
  const path = pathOf(url);
  if (path === API_PATH || path.startsWith(`${API_PATH}/`)) return isText(path) ? url : API_PATH;
  if (!path.startsWith('/assets/')) return '/';
  return /^\/assets\/[\w.-]+$/.test(path) ? path : '/assets/';
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] as string;
}

function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
}

/** `path` is one of ours, and needs no escaping. */
function pageTo(path: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${path}"><title>Tollgate</title><a href="${path}">Go on</a></html>\n`;
}

async function send(result: unknown, reply: FastifyReply): Promise<void> {
  if (result instanceof Download) {
    const { name, type, content } = result;
    const response = reply.raw.writeHead(200, {
      'content-type': type,
      'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
    });
    await pipeline(content, response);
  } else if (result instanceof Redirect) reply.raw.writeHead(302, { location: result.url }).end();
  else if (result instanceof Onward)
    reply.header('content-type', 'text/html; charset=utf-8').send(pageTo(result.path));
  else if (result === undefined) reply.code(204).send();
  else reply.header('content-type', JSON_TYPE).send(JSON.stringify(result));
}

/** Its work is of no use to anybody once the browser has gone. */
function isRead(route: Route): route is Extract<Route, { kind: 'closed' }> {
  return route.kind === 'closed' && (route.options.method === 'GET' || route.options.long === true);
}

/** Throws unless the operator with this session may call the route. */
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

function queryOf({ url }: FastifyRequest): URLSearchParams {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
  for (const [name, value] of query)
    if (`${name}${value}`.includes('\0')) throw new ConsoleProblem('field_charset', ['query']);
  return query;
}
