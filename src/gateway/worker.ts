// One of several worker processes: a whole gateway, started and stopped by the first process.
import type { Certificate } from '../http/tls.js';
import { isAway, lineForOperator } from './database/connection.js';
import { type OneGateway, startGateway } from './gateway.js';
import type { Log } from './observability/log.js';
import type { FiguresAnswer, FiguresQuestion } from './observability/worker-figures.js';
import type { Settings } from './settings/settings.js';
import { closeInTime } from './stopping.js';

/** The first process's message to a worker that is ready. */
export interface WorkerStart {
  readonly settings: Settings;
  readonly databaseUrl: string;
  readonly certificate: Certificate | undefined;
}

/** A later message: the new certificate. */
export interface WorkerCertificate {
  readonly certificate: Certificate;
}

/** A worker's messages: that it is ready, then where it listens or why it does not; later its metrics. */
export type WorkerMessage = 'ready' | WorkerAddresses | WorkerFailure | FiguresAnswer;
export type WorkerAddresses = Pick<OneGateway, 'baseUrl' | 'checkoutUrl'>;
interface WorkerFailure extends Pick<NodeJS.ErrnoException, 'code' | 'syscall'> {
  readonly error: string;
  /** The only reason is that the database is lost now. */
  readonly away: boolean;
}

/** Ends on `stopSignal`, or when the first process has gone. */
export async function runWorker({ log, linesDropped }: Log, stopSignal: Promise<unknown>): Promise<void> {
  const send = (message: WorkerMessage) => new Promise((resolve) => process.send?.(message, resolve));
  const start = new Promise<WorkerStart>((resolve) => process.once('message', resolve));
  await send('ready');
  const { settings, databaseUrl, certificate } = await start;
  // The first process reads it again, and sends it to all.
  if (certificate !== undefined) process.on('SIGHUP', () => {});
  let gateway: OneGateway | undefined;
  let renewed: Certificate | undefined;
  process.on('message', (message: WorkerCertificate | FiguresQuestion) => {
    if ('question' in message) {
      const { question, stored } = message;
      void gateway?.ownFigures({ stored }).then((figures) => send({ question, figures }));
      return;
    }
    renewed = message.certificate;
    gateway?.useCertificate(renewed);
  });
  try {
    gateway = await startGateway({ settings, databaseUrl, certificate, log, logLinesDropped: linesDropped });
    if (renewed !== undefined) gateway.useCertificate(renewed);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    const away = isAway(error);
    await send({ error: inWords(error), away, ...(code && { code }), ...(syscall && { syscall }) });
    process.exit(1);
  }
  const { baseUrl, checkoutUrl } = gateway;
  await send({ baseUrl, checkoutUrl });
  const alone = new Promise((resolve) => process.once('disconnect', resolve));
  await Promise.race([stopSignal, alone]);
  await closeInTime(gateway, settings);
  process.exit(0);
}

/** The same message as if the first process itself had failed. */
function inWords(error: unknown): string {
  const { message, stack = message } = error as Error;
  return lineForOperator(error) ?? stack;
}
