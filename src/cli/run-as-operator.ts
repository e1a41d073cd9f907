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

const SIGNER: Pick<Means, 'signerIfAvailable'> = {
  signerIfAvailable: (database, dataDir) => signerIfAvailable({ ...readSettings(), dataDir }, database),
};

type Shared = Pick<Doing, 'fence' | 'progress' | 'signal'>;

/** For a task without a database. Settings are read on demand: such a task may run with wrong ones. */
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
 * The name for the journal: the operator who runs this command, if permitted. As long as there are no operators it is the account of the
 * operating system, marked as such.
 */
const admit: Admit = async ({ operator: name }, database, provider, { permission, named }) => {
  if (name === undefined) {
    if (await hasOperators(database)) refuse('operator_unnamed');
    return `operator:account:${accountName()}`;
  }
  const operator = await findActingOperator(database, name);
  await permit(database, operator, permission, named);
  // A command that only reads works without the key.
  if (permission.role !== 'viewer')
    await findActingOperator(database, name, await credentialKey(database, await provider()));
  return `operator:${name}`;
};

/** The same on the schema of any release, and with or without the key. A task without a role needs no operator. */
const admitOnAnySchema: Admit = async (settings, database, provider, asked) => {
  if (asked.permission.role === undefined) return unknownOperator(settings);
  const signer = await signerIfAvailable(settings, database);
  if (signer !== undefined) setSigner(database, signer);
  return admit(settings, database, provider, asked).catch((error: unknown) => {
    if (error instanceof KeyUnavailable || isUndefined(error)) return unknownOperator(settings);
    throw error;
  });
};

/** For a database that does not exist yet, or has no table of operators. */
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
