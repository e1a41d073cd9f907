// Operators on the console of a test's gateway: each with a session, calling its API as the page does.
import { journal } from '../src/journal/journal.js';
import {
  journalledOperator,
  type OperatorRow,
  type SealedSession,
  type SessionStage,
  sealOfOperator,
  sealOfSession,
} from '../src/operators/operator.js';
import { addOperator, hasOperators } from '../src/operators/operators.js';
import { LIST_OPERATORS } from '../src/operators/operators.sql.js';
import { setRules } from '../src/operators/second-person/rules.js';
import { openSession } from '../src/operators/sessions.js';
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

/** As if an operator had proved who they are, or done anything, so long ago. */
export async function sessionsWere(
  { databaseUrl, credentialKey }: Pick<TestGateway, 'databaseUrl' | 'credentialKey'>,
  operator: string,
  { provedMinutesAgo, seenMinutesAgo }: { provedMinutesAgo?: number; seenMinutesAgo?: number },
): Promise<void> {
  const database = new Database(databaseUrl, { maxConnections: 1 });
  try {
    const { rows } = await database.query<SealedSession>(
      {
        name: '',
        text: `UPDATE operator_session SET seen_at = date_trunc('milliseconds', coalesce(now() - $2 * interval '1 minute', seen_at)),
          proved_at = date_trunc('milliseconds', coalesce(now() - $3 * interval '1 minute', proved_at))
        WHERE operator = $1 RETURNING tag, operator, stage, method, round(extract(epoch FROM ends_at) * 1000)::float8 AS "endsMs",
          round(extract(epoch FROM seen_at) * 1000)::float8 AS "seenMs",
          round(extract(epoch FROM proved_at) * 1000)::float8 AS "provedMs"`,
      },
      [operator, seenMinutesAgo ?? null, provedMinutesAgo ?? null],
    );
    for (const session of rows)
      await database.query({ name: '', text: 'UPDATE operator_session SET seal = $2 WHERE tag = $1' }, [
        session.tag,
        sealOfSession(credentialKey, session),
      ]);
  } finally {
    await database.close();
  }
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
    await sessionsWere(gateway, name, { provedMinutesAgo: -1_440 });
    return consoleClient(gateway.operatorsUrl, `${COOKIE_NAME}=${token}`, name);
  } finally {
    await database.close();
  }
}
