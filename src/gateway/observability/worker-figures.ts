// Gathers the metrics of several workers. The counts of workers that ended or do not answer are kept: otherwise a sum would go
// back, and Prometheus would take that for a restart.
import type { Worker } from 'node:cluster';
import { lasting, merged } from '../../http/observability/exposition.js';
import type { Figures } from '../../http/observability/metrics.js';

/** The first process's question to a worker. */
export interface FiguresQuestion {
  readonly question: number;
  /** Includes the metrics from the database: one worker is enough. */
  readonly stored: boolean;
}

export interface FiguresAnswer {
  readonly question: number;
  readonly figures: Figures;
}

/** A busy or stopped worker does not delay the others' metrics. */
const PATIENCE_MS = 2_000;

export class WorkerFigures {
  readonly #waiting = new Map<number, (figures: Figures) => void>();
  /** Each worker's last counts. */
  readonly #counted = new Map<Worker, Figures>();
  /** Workers that did not answer the last time. */
  #silent: ReadonlySet<Worker> = new Set();
  /** The counts of workers that have ended. */
  #past: Figures = {};
  #question = 0;

  async ask(workers: Iterable<Worker>): Promise<readonly Figures[]> {
    const all = [...workers].filter((worker) => worker.isConnected());
    // Prefers a worker that answered the last time.
    const teller = all.find((worker) => !this.#silent.has(worker)) ?? all[0];
    const heard = await Promise.all(all.map((worker) => this.#askOne(worker, worker === teller)));
    const silent = all.filter((_, place) => heard[place] === undefined);
    this.#silent = new Set(silent);
    return [
      this.#past,
      { processesSilent: [[[], silent.length]] },
      ...silent.map((worker) => this.#counted.get(worker) ?? {}),
      // The counts of a worker that has ended meanwhile are in the past.
      ...heard.flatMap((figures, place) =>
        figures !== undefined && this.#counted.has(all[place] as Worker) ? [figures] : [],
      ),
    ];
  }

  answered({ question, figures }: FiguresAnswer): void {
    this.#waiting.get(question)?.(figures);
  }

  ended(worker: Worker): void {
    this.#past = merged([this.#past, this.#counted.get(worker) ?? {}]);
    this.#counted.delete(worker);
  }

  async #askOne(worker: Worker, stored: boolean): Promise<Figures | undefined> {
    this.#question += 1;
    const question = this.#question;
    const figures = await new Promise<Figures | undefined>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS, undefined);
      this.#waiting.set(question, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      const asked: FiguresQuestion = { question, stored };
      worker.send(asked, () => {});
    });
    this.#waiting.delete(question);
    if (figures !== undefined) this.#counted.set(worker, lasting(figures));
    return figures;
  }
}
