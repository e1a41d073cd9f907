// One of several worker processes: a whole gateway, started and stopped by the first process.
import type { Logger } from 'pino';
import { DatabaseUnavailable } from '../postgres/database.js';
import { KeyUnavailable } from '../vault/key-provider.js';
import { isForOperator, reasonOf } from './connection.js';
import { type Gateway, startGateway } from './gateway.js';
import type { Settings } from './settings.js';
import { closeInTime } from './stopping.js';

/** What the first process sends to a worker that is ready. */
export interface WorkerStart {
  readonly settings: Settings;
  readonly databaseUrl: string;
}

/** What a worker sends: that it can be started, and then where it listens, or why it does not. */
export type WorkerMessage = 'ready' | { readonly baseUrl: string } | WorkerFailure;
type WorkerFailure = { readonly error: string } & Pick<NodeJS.ErrnoException, 'code' | 'syscall'>;

/** Ends when `stopSignal` comes, or the first process has gone. */
export async function runWorker(log: Logger, stopSignal: Promise<unknown>): Promise<void> {
  const send = (message: WorkerMessage) => new Promise((resolve) => process.send?.(message, resolve));
  const start = new Promise<WorkerStart>((resolve) => process.once('message', resolve));
  await send('ready');
  const { settings, databaseUrl } = await start;
  let gateway: Gateway;
  try {
    gateway = await startGateway({ settings, databaseUrl, log });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    await send({ error: inWords(error), ...(code && { code }), ...(syscall && { syscall }) });
    process.exit(1);
  }
  await send({ baseUrl: gateway.baseUrl });
  const alone = new Promise((resolve) => process.once('disconnect', resolve));
  await Promise.race([stopSignal, alone]);
  await closeInTime(gateway, settings);
  process.exit(0);
}

/** As the first process would say it, had it failed itself. */
function inWords(error: unknown): string {
  if (error instanceof DatabaseUnavailable) return `${error.message} (${reasonOf(error)})`;
  const { message, stack = message } = error as Error;
  return isForOperator(error) || error instanceof KeyUnavailable ? message : stack;
}
