// Operators on the console of a test's gateway: each with a session, calling its API as the page does.
import { journal } from '../src/journal/journal.js';
import { journalledOperator, type OperatorRow, sealOfOperator } from '../src/operators/operator.js';
import { addOperator, hasOperators } from '../src/operators/operators.js';
import { LIST_OPERATORS } from '../src/operators/operators.sql.js';
import { setRules } from '../src/operators/second-person/rules.js';
import {
  databaseTime,
  openSession,
  type SealedSession,
  type SessionStage,
  sealOfSession,
} from '../src/operators/sessions.js';
import { ALL_SESSIONS } from '../src/operators/sessions.sql.js';
import type { CredentialKey } from '../src/organisations/users/credentials.js';
import { Database } from '../src/postgres/database.js';
import type { OperatorRole } from '../src/tasks/task.js';
import { operatorsDatabase } from './cast.js';
import { credentialKeyOf, type TestGateway } from './gateway.js';
import { callOverHttp } from './http-call.js';

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  readonly body: any;
}

export interface ConsoleClient {
  readonly name: string;
  /** What a browser would send. */
  readonly cookie: string;
  get(path: string, headers?: Record<string, string>): Promise<ConsoleAnswer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<ConsoleAnswer>;
}

export const COOKIE_NAME = '__Host-tollgate';

/** Behind `/console/api`, as the console's own page would, unless the headers say otherwise. */
export function consoleClient(url: string, cookie = '', name = ''): ConsoleClient {
  const call = async (
    method: string,
    path: string,
    body: string | Uint8Array | undefined,
    headers: Record<string, string>,
  ): Promise<ConsoleAnswer> => {
    const {
      status,
      headers: answered,
      text,
    } = await callOverHttp(`${url}/console/api${path}`, {
      method,
      headers: { origin: url, ...(cookie !== '' && { cookie }), ...headers },
      ...(body !== undefined && { body }),
    });
    const isJson = answered.get('content-type')?.startsWith('application/json') ?? false;
    return { status, headers: answered, text, body: isJson ? JSON.parse(text) : undefined };
  };
  return {
    name,
    cookie,
    get: (path, headers = {}) => call('GET', path, undefined, headers),
    post: (path, body = {}, headers = {}) =>
      call('POST', path, body instanceof Uint8Array ? body : JSON.stringify(body), {
        'content-type': body instanceof Uint8Array ? 'application/octet-stream' : 'application/json',
        ...headers,
      }),
  };
}

export interface SignedIn {
  readonly role?: OperatorRole;
  readonly organisation?: number;
  readonly name?: string;
  readonly stage?: SessionStage;
  /** Whether it can be a second person. */
  readonly knownSince?: 'long ago' | 'now';
  /** How long its session lasts; the default if absent. */
  readonly lastsMs?: number;
}

let count = 0;

/** Voids, refunds and completions in AUD above it need a second person. */
export async function moneyNeedsApproval(
  gateway: Pick<TestGateway, 'databaseUrl' | 'dataDir'>,
  aboveCents: number,
): Promise<void> {
  const database = operatorsDatabase(gateway);
  await setRules(database, 'operator:test', {
    above: [{ currency: 'AUD', cents: aboveCents }],
  }).finally(() => database.close());
}

/** As if all operators had been added long ago: each can be the second person to any other. */
export async function knownForLong(database: Database, key: CredentialKey): Promise<void> {
  const { rows } = await database.query<OperatorRow>(LIST_OPERATORS);
  for (const row of rows.filter(({ history }) => history.length > 0)) {
    const history = row.history.map((each) => ({ ...each, atMs: each.atMs - 8 * 86_400_000 }));
    const seal = sealOfOperator(key, { ...row, history });
    const text = 'UPDATE operator SET history = $2, seal = $3 WHERE name = $1';
    await database.query({ name: '', text }, [row.name, JSON.stringify(history), seal]);
    const entry = { actor: 'operator:test', action: 'operator.changed', detail: row.name } as const;
    await journal(database, entry, journalledOperator({ name: row.name, seal }));
  }
}

/** What the console gives an operator, for `TOLLGATE_OPERATOR_TOKEN`. */
export function operatorToken(database: Database, key: CredentialKey, operator: string): Promise<string> {
  const session = { stage: 'command_line', method: 'passkey', address: '127.0.0.1', agent: 'test' } as const;
  return openSession(database, key, { operator, ...session, lastsMs: 3_600_000 });
}

/** The same for an operator of a gateway. */
export async function tokenFor(
  gateway: Pick<TestGateway, 'databaseUrl' | 'dataDir' | 'credentialKey'>,
  operator: string,
): Promise<string> {
  const database = operatorsDatabase(gateway);
  return operatorToken(database, gateway.credentialKey, operator).finally(() => database.close());
}

/** How many minutes ago. Absent: as it was. */
interface MinutesAgo {
  readonly proved?: number;
  readonly seen?: number;
}

async function resealSessions(
  database: Database,
  key: CredentialKey,
  operator: string,
  { proved, seen }: MinutesAgo,
): Promise<void> {
  const nowMs = await databaseTime(database);
  const ago = (minutes: number | undefined, before: number) =>
    minutes === undefined ? before : nowMs - minutes * 60_000;
  const { rows } = await database.query<SealedSession>(ALL_SESSIONS);
  for (const row of rows.filter((each) => each.operator === operator)) {
    const [seenMs, provedMs] = [ago(seen, row.seenMs), ago(proved, row.provedMs)];
    const text = `UPDATE operator_session SET seal = $4, seen_at = to_timestamp($2::float8 / 1000),
      proved_at = to_timestamp($3::float8 / 1000) WHERE tag = $1`;
    const seal = sealOfSession(key, { ...row, seenMs, provedMs });
    await database.query({ name: '', text }, [row.tag, seenMs, provedMs, seal]);
  }
}

/** As if an operator had used their sessions, or proved who they are, some minutes ago: that is sealed. */
export async function sessionsAgo(
  gateway: Pick<TestGateway, 'databaseUrl' | 'dataDir' | 'credentialKey'>,
  operator: string,
  minutes: MinutesAgo,
): Promise<void> {
  const database = operatorsDatabase(gateway);
  await resealSessions(database, gateway.credentialKey, operator, minutes).finally(() => database.close());
}

/** A new operator who is signed in, as after a sign-in by passkey a moment ago. */
export async function signedIn(
  gateway: Pick<TestGateway, 'databaseUrl' | 'settings' | 'credentialKey' | 'operatorsUrl'>,
  options: SignedIn = {},
): Promise<ConsoleClient> {
  const {
    role = 'administrator',
    stage = 'signed_in',
    knownSince = 'long ago',
    organisation,
    lastsMs,
  } = options;
  const name = options.name ?? `${role}-${process.pid}-${++count}`;
  const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
  try {
    await credentialKeyOf(database, gateway.settings);
    const key = gateway.credentialKey;
    // The first operator must be an administrator of the whole installation.
    if (!(await hasOperators(database)))
      await addOperator(database, 'operator:test', key, 'http://localhost', 'first', {
        role: 'administrator',
      });
    await addOperator(database, 'operator:test', key, 'http://localhost', name, { role, organisation });
    if (knownSince === 'long ago') await knownForLong(database, key);
    const token = await openSession(database, key, {
      operator: name,
      stage,
      method: 'passkey',
      address: '127.0.0.1',
      agent: 'test',
      ...(lastsMs !== undefined && { lastsMs }),
    });
    // On a slow machine a test file takes longer than the five minutes of a fresh proof.
    await resealSessions(database, key, name, { proved: -1_440 });
    return consoleClient(gateway.operatorsUrl, `${COOKIE_NAME}=${token}`, name);
  } finally {
    await database.close();
  }
}
