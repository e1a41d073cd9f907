// Who runs a command, whether that operator may, and on which database.
import { hostname, userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Means } from '../console/all-tasks.js';
import { demoFileToUpdate } from '../demo/demo.js';
import { credentialKey, journalKey, signerIfAvailable } from '../gateway/callers.js';
import { withDatabase } from '../gateway/database/connection.js';
import { paidElsewhere } from '../gateway/fleet/paid-elsewhere.js';
import { checkoutUrlOf, consoleUrlOf } from '../gateway/settings/console-url.js';
import { openKeyProvider } from '../gateway/settings/key-encryption.js';
import { readSettings, type Settings } from '../gateway/settings/settings.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { permit } from '../operators/operator-roles.js';
import { hasOperators } from '../operators/operators.js';
import { runTask } from '../operators/second-person/task-requests.js';
import { operatorWithToken } from '../operators/sessions.js';
import { destroyCardsOfCustomer } from '../payments/cards/card-destruction.js';
import { requestMeans } from '../payments/requests/operator-requests.js';
import { type Database, isUndefined } from '../postgres/database.js';
import {
  type Doing,
  type DoingAlone,
  type NamedThings,
  namedIn,
  type Permission,
  type Task,
} from '../tasks/task.js';
import { refuse } from '../values/refusal.js';
import { type KeyProvider, KeyUnavailable } from '../vault/keys/key-provider.js';
import { readNetworks } from '../webhooks/addresses.js';
import { ProgressBar } from './progress-bar.js';

/** Runs a task with the values of its fields. */
export async function runAsOperator(task: Task<Means>, given: object): Promise<object> {
  let bar: ProgressBar | undefined;
  const progress = (what: string, unit?: string) => {
    bar?.end();
    const next = new ProgressBar(what, unit);
    bar = next;
    return (done: number, total?: number) => next.show(done, total);
  };
  const shared = { fence: undefined, progress, signal: new AbortController().signal };
  try {
    return await (task.on === 'nothing'
      ? task.run(alone(shared) as Doing<Means>, given)
      : onDatabase(task, given, shared));
  } finally {
    bar?.end();
  }
}

const OF_RESTORED: Pick<Means, 'signerIfAvailable' | 'paidElsewhere'> = {
  paidElsewhere: (database) => paidElsewhere(database, readSettings()),
  signerIfAvailable: (database, dataDir) => signerIfAvailable({ ...readSettings(), dataDir }, database),
};

type Shared = Pick<Doing, 'fence' | 'progress' | 'signal'>;

/** For a task without a database. Settings are read on demand: such a task may run with wrong ones. */
function alone(shared: Shared): DoingAlone<typeof OF_RESTORED> {
  return {
    ...shared,
    means: OF_RESTORED,
    get settings() {
      return readSettings();
    },
    actor: accountActor(),
  };
}

function onDatabase(task: Task<Means>, given: object, shared: Shared): Promise<object> {
  const settings = readSettings();
  task.checks?.(settings, given);
  const asked: Asked = {
    permission: task,
    byAccount: task.byAccount ?? false,
    named: namedIn(task.input, given),
  };
  const admitted = task.on === undefined ? admitAndSign : admitOnAnySchema;
  return withDatabase(
    settings,
    async (database) => {
      const provider = openedOnce(settings, database);
      const actor = await admitted(settings, database, provider, asked);
      const means = meansOf(settings, database, provider);
      return runTask(task, { ...shared, database, actor, means, settings }, given);
    },
    { onAnySchema: task.on === 'any schema', as: task.on === 'as owner' ? 'migrating' : 'operating' },
  );
}

function meansOf(settings: Settings, database: Database, provider: () => Promise<KeyProvider>): Means {
  const key = async () => credentialKey(database, await provider());
  return {
    provider,
    key,
    journalKey: async () => journalKey(database, await provider()),
    requests: async () => requestMeans(await key(), settings),
    webhooks: async () => {
      const { webhookNetworks, webhookTimeoutMs: timeoutMs } = settings;
      return { provider: await provider(), networks: readNetworks(webhookNetworks), timeoutMs };
    },
    destroyCards: destroyCardsOfCustomer,
    acquirerDeadlineMs: settings.acquirerDeadlineMs,
    ...OF_RESTORED,
    consoleUrl: consoleUrlOf(settings),
    checkoutUrl: checkoutUrlOf(settings),
    demoFileToUpdate: async (username) => demoFileToUpdate(database, await key(), settings.dataDir, username),
  };
}

interface Asked {
  readonly permission: Permission;
  readonly byAccount: boolean;
  readonly named: NamedThings;
}

type Admit = (
  settings: Settings,
  database: Database,
  provider: () => Promise<KeyProvider>,
  asked: Asked,
) => Promise<string>;

/** Journal entries are signed; commands that only read open the key-encryption key on demand. */
const admitAndSign: Admit = async (settings, database, provider, asked) => {
  const open = async () => new EntrySigner(await journalKey(database, await provider()), hostname());
  setSigner(database, open);
  const actor = await admit(settings, database, provider, asked);
  // Opened before the task begins: proving the key takes another session, which may have to wait for the task's own transaction.
  if (asked.permission.role !== 'viewer') setSigner(database, await open());
  return actor;
};

/** Opens the provider at the first call. */
function openedOnce(settings: Settings, database: Database): () => Promise<KeyProvider> {
  let opening: Promise<KeyProvider> | undefined;
  return () => {
    opening ??= openKeyProvider(settings, database);
    return opening;
  };
}

/**
 * The name for the journal of whoever runs this command, if permitted. As long as there are operators it is the one to whom the console
 * gave a token. Otherwise it is the account of the operating system, marked as such.
 */
const admit: Admit = async ({ operatorToken }, database, provider, { permission, byAccount, named }) => {
  const isAsked = operatorToken === undefined && !byAccount && (await hasOperators(database));
  // guard(command line: nobody is believed by name): const token = ⇒ const token = isAsked ? undefined :
  const token = isAsked ? await askForToken() : operatorToken;
  if (token === undefined) return accountActor();
  const operator = await operatorWithToken(database, await credentialKey(database, await provider()), token);
  await permit(database, operator, permission, named);
  return `operator:${operator.name}`;
};

/** The same on the schema of any release, and with or without the key. A task without a role needs no operator. */
const admitOnAnySchema: Admit = async (settings, database, provider, asked) => {
  if (asked.permission.role === undefined) return accountActor();
  const signer = await signerIfAvailable(settings, database);
  if (signer !== undefined) setSigner(database, signer);
  return admit(settings, database, provider, asked).catch((error: unknown) => {
    if (error instanceof KeyUnavailable || isUndefined(error)) return accountActor();
    throw error;
  });
};

/** At a terminal, without showing it. */
async function askForToken(): Promise<string> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) refuse('operator_not_proved');
  const { stdin, stderr } = process;
  stderr.write('Token from the page “Sign-in and sessions” of the console: ');
  const silent = new Writable({ write: (_piece, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: silent, terminal: true });
  const token = await new Promise<string>((resolve) => {
    reader.once('close', () => resolve(''));
    reader.question('', resolve);
  });
  reader.close();
  stderr.write('\n');
  return token.trim() === '' ? refuse('operator_not_proved') : token.trim();
}

/** Where there are no operators, no database yet, or nobody at a terminal. */
function accountActor(): string {
  return `operator:account:${accountName()}`;
}

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without a name, as in some containers.
    return String(process.getuid?.() ?? 'unknown');
  }
}
