// Several worker processes behind one address, for machines with more cores: each is a whole gateway, and the database
// keeps them apart as it does gateways on several machines.
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DatabaseUnavailable } from '../postgres/database.js';
import { KeyUnavailable } from '../vault/key-provider.js';
import { isForOperator, reasonOf } from './connection.js';
import { type Gateway, startGateway } from './gateway.js';
import { type Settings, SettingsError } from './settings.js';

interface Start {
  readonly settings: Settings;
  readonly databaseUrl: string;
}

/** What a worker tells: that it can be told what to do, and then where it listens, or why it does not. */
type Told = 'ready' | { readonly baseUrl: string } | Failure;
type Failure = { readonly error: string } & Pick<NodeJS.ErrnoException, 'code' | 'syscall'>;

/** One that ends by itself is replaced, but not in a frenzy. */
const REPLACED_AFTER_MS = 1_000;

/** Starts the workers. They listen on the same port, and the kernel hands each new connection to one of them. */
export async function startWorkers(settings: Settings, databaseUrl: string, log: Logger): Promise<Gateway> {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  let stopping = false;
  const fork = () => startWorker({ settings, databaseUrl });
  const replace = async () => {
    await sleep(REPLACED_AFTER_MS);
    if (stopping) return;
    await fork().catch((error: Error) => {
      if (!stopping) log.error({ reason: error.message }, 'a worker did not start');
    });
  };
  cluster.on('exit', (worker, code, signal) => {
    if (stopping) return;
    log.warn({ worker: worker.process.pid, code, signal }, 'a worker ended, and is replaced');
    void replace();
  });
  const close = async () => {
    stopping = true;
    const workers = Object.values(cluster.workers ?? {}) as Worker[];
    await Promise.all(workers.map(endWorker));
  };
  try {
    const baseUrls = await Promise.all(Array.from({ length: settings.workers }, fork));
    return { baseUrl: baseUrls[0] as string, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function startWorker(start: Start): Promise<string> {
  const worker = cluster.fork();
  return new Promise((resolve, reject) => {
    worker.once('exit', (code) => reject(new Error(`a worker ended with ${code} before it listened`)));
    worker.on('message', (told: Told) => {
      // What is sent before it listens for it is lost.
      if (told === 'ready') worker.send(start);
      else if ('baseUrl' in told) resolve(told.baseUrl);
      else reject(Object.assign(new SettingsError(told.error), told));
    });
  });
}

async function endWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.process.kill('SIGTERM');
  await ended;
}

/** As the first process would have told it, had it failed itself. */
function inWords(error: unknown): string {
  if (error instanceof DatabaseUnavailable) return `${error.message} (${reasonOf(error)})`;
  const { message, stack = message } = error as Error;
  return isForOperator(error) || error instanceof KeyUnavailable ? message : stack;
}

/** The life of one worker: told what to do by the first process, and ended when that one says so or has gone. */
export async function work(log: Logger, told: Promise<unknown>): Promise<void> {
  const tell = (what: Told) => new Promise((resolve) => process.send?.(what, resolve));
  const start = new Promise<Start>((resolve) => process.once('message', resolve));
  await tell('ready');
  const { settings, databaseUrl } = await start;
  let gateway: Gateway;
  try {
    gateway = await startGateway(settings, databaseUrl, log);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    await tell({ error: inWords(error), ...(code && { code }), ...(syscall && { syscall }) });
    process.exit(1);
  }
  await tell({ baseUrl: gateway.baseUrl });
  const alone = new Promise((resolve) => process.once('disconnect', resolve));
  await Promise.race([told, alone]);
  const tooLong = sleep(settings.acquirerDeadlineMs + 5_000, undefined, { ref: false });
  await Promise.race([gateway.close(), tooLong]);
  process.exit(0);
}
