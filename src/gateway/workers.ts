// The first process of several: starts the workers behind one address, replaces workers that end, and stops them. The database
// keeps them apart like gateways on several machines.
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseAway } from './database/connection.js';
import type { Gateway, GatewayStart } from './gateway.js';
import { WorkerFigures } from './observability/worker-figures.js';
import { SettingsError } from './settings/settings.js';
import type { WorkerAddresses, WorkerCertificate, WorkerMessage, WorkerStart } from './worker.js';

/** A worker that ends by itself is replaced, but not in a tight loop. */
const REPLACED_AFTER_MS = 1_000;

/** Starts the workers. They listen on the same port, and the kernel gives each new connection to one of them. */
export async function startWorkers({
  settings,
  databaseUrl,
  certificate,
  log,
}: Omit<GatewayStart, 'furtherLinks'>): Promise<Gateway> {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  let stopping = false;
  let used = certificate;
  /** Workers that have received their start message, with its certificate. */
  const started = new Set<Worker>();
  const figures = new WorkerFigures();
  const fork = () =>
    startWorker(figures, (worker) => {
      started.add(worker);
      return { settings, databaseUrl, certificate: used };
    });
  const replace = async () => {
    await sleep(REPLACED_AFTER_MS);
    if (stopping) return;
    await fork().catch((error: Error) => {
      if (!stopping) log.error({ reason: error.message }, 'worker failed to start');
    });
  };
  const onExit = (worker: Worker, code: number, signal: string) => {
    started.delete(worker);
    // guard(metrics: what a worker has counted outlives it): figures.ended(worker); ⇒
    figures.ended(worker);
    if (stopping) return;
    log.warn({ worker: worker.process.pid, code, signal }, 'worker exited; a new one is started');
    void replace();
  };
  cluster.on('exit', onExit);
  const close = async () => {
    stopping = true;
    const workers = Object.values(cluster.workers ?? {}) as Worker[];
    await Promise.all(workers.map(endWorker));
  };
  try {
    const [first] = await Promise.all(Array.from({ length: settings.workers }, fork));
    return {
      ...(first as WorkerAddresses),
      certificate: () => used,
      useCertificate(renewed) {
        used = renewed;
        const message: WorkerCertificate = { certificate: renewed };
        // A worker that is about to end needs none.
        // guard(certificates: every worker gets the new one): isConnected() ⇒ id === 1
        for (const worker of started) if (worker.isConnected()) worker.send(message, () => {});
      },
      figures: () => figures.ask(started),
      close,
    };
  } catch (error) {
    await close();
    // A retried start adds its own listener.
    cluster.off('exit', onExit);
    throw error;
  }
}

function startWorker(
  figures: WorkerFigures,
  start: (worker: Worker) => WorkerStart,
): Promise<WorkerAddresses> {
  const worker = cluster.fork();
  return new Promise((resolve, reject) => {
    worker.once('exit', (code) => reject(new Error(`a worker ended with ${code} before it listened`)));
    worker.on('message', (message: WorkerMessage) => {
      // A message sent before the worker listens is lost.
      if (message === 'ready') worker.send(start(worker));
      else if ('figures' in message) figures.answered(message);
      else if ('baseUrl' in message) resolve(message);
      else reject(Object.assign(new (message.away ? DatabaseAway : SettingsError)(message.error), message));
    });
  });
}

async function endWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.process.kill('SIGTERM');
  await ended;
}
