// Who runs a command, whether that operator may, and on which database.
import { hostname, userInfo } from 'node:os';
import type { Means } from '../console/all-tasks.js';
import { demoFileToUpdate } from '../demo/demo.js';
import { credentialKey, journalKey, signerIfAvailable } from '../gateway/callers.js';
import { withDatabase } from '../gateway/database/connection.js';
import { consoleUrlOf } from '../gateway/settings/console-url.js';
import { openKeyProvider } from '../gateway/settings/key-encryption.js';
import { readSettings, type Settings } from '../gateway/settings/settings.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { permit } from '../operators/operator-roles.js';
import { findActingOperator, hasOperators } from '../operators/operators.js';
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

/** Does a task with what was given for its fields. */
export async function runAsOperator(task: Task<Means>, given: object): Promise<object> {
  let bar: ProgressBar | undefined;
  const progress = (what: string, unit?: string) => {
    bar?.end();
    const next = new ProgressBar(what, unit);
    bar = next;
    return (done: number, total?: number) => next.show(done, total);
  };
  const shared = { fence: undefined, progress, signal: new AbortController().signal };
  const result = await (task.on === 'nothing'
    ? task.run(alone(shared) as Doing<Means>, given)
    : onDatabase(task, given, shared));
  bar?.end();
  return result;
}

const SIGNER: Pick<Means, 'signerIfAvailable'> = {
  signerIfAvailable: (database, dataDir) => signerIfAvailable({ ...readSettings(), dataDir }, database),
};

type Shared = Pick<Doing, 'fence' | 'progress' | 'signal'>;

/** The settings are read when they are asked for: the doctor says what is wrong with them. */
function alone(shared: Shared): DoingAlone<Pick<Means, 'signerIfAvailable'>> {
  return {
    ...shared,
    means: SIGNER,
    get settings() {
      return readSettings();
    },
    get actor() {
      return unknownOperator(readSettings());
    },
  };
}

function onDatabase(task: Task<Means>, given: object, shared: Shared): Promise<object> {
  const settings = readSettings();
  task.checks?.(settings, given);
  const asked: Asked = { permission: task, named: namedIn(task.input, given) };
  const admitted = task.on === undefined ? admitAndSign : admitOnAnySchema;
  return withDatabase(
    settings,
    async (database) => {
      const provider = openedOnce(settings, database);
      const actor = await admitted(settings, database, provider, asked);
      return task.run(
        { ...shared, database, actor, means: meansOf(settings, database, provider), settings },
        given,
      );
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
    ...SIGNER,
    consoleUrl: consoleUrlOf(settings),
    demoFileToUpdate: async (username) => demoFileToUpdate(database, await key(), settings.dataDir, username),
  };
}

interface Asked {
  readonly permission: Permission;
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
  // Opened before the work begins: within its transaction the key would be proven by another one, which may have to wait for it.
  if (asked.permission.role !== 'viewer') setSigner(database, await open());
  return actor;
};

/** When it is asked for. */
function openedOnce(settings: Settings, database: Database): () => Promise<KeyProvider> {
  let opening: Promise<KeyProvider> | undefined;
  return () => {
    opening ??= openKeyProvider(settings, database);
    return opening;
  };
}

/**
 * The name for the journal of whoever runs this command, if they may. Where there are operators, it is one of them. Otherwise it is the
 * account of the operating system, and the journal shows that it is one.
 */
const admit: Admit = async ({ operator: name }, database, provider, { permission, named }) => {
  if (name === undefined) {
    if (await hasOperators(database)) refuse('operator_unnamed');
    return `operator:account:${accountName()}`;
  }
  const operator = await findActingOperator(database, name);
  await permit(database, operator, permission, named);
  // Whoever only reads needs no key.
  if (permission.role !== 'viewer')
    await findActingOperator(database, name, await credentialKey(database, await provider()));
  return `operator:${name}`;
};

/** The same on the schema of any release, and with or without the key. Nobody is asked for where a task takes no role. */
const admitOnAnySchema: Admit = async (settings, database, provider, asked) => {
  if (asked.permission.role === undefined) return unknownOperator(settings);
  const signer = await signerIfAvailable(settings, database);
  if (signer !== undefined) setSigner(database, signer);
  return admit(settings, database, provider, asked).catch((error: unknown) => {
    if (error instanceof KeyUnavailable || isUndefined(error)) return unknownOperator(settings);
    throw error;
  });
};

/** Where there is no database yet, or none that knows operators. */
function unknownOperator({ operator }: Settings): string {
  return operator === undefined ? `operator:account:${accountName()}` : `operator:${operator}`;
}

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without a name, as in some containers.
    return String(process.getuid?.() ?? 'unknown');
  }
}
