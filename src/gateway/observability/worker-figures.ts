// The figures of several workers: each is asked, and what those have counted that ended or do not answer is not lost. Otherwise a sum would
// go back, and Prometheus would take that for a restart.
import type { Worker } from 'node:cluster';
import { lasting, merged } from '../../http/observability/exposition.js';
import type { Figures } from '../../http/observability/metrics.js';

/** What the first process asks a worker. */
export interface FiguresQuestion {
  readonly question: number;
  /** Also what is counted in the database: one of them is enough. */
  readonly stored: boolean;
}

export interface FiguresAnswer {
  readonly question: number;
  readonly figures: Figures;
}

/** One that is busy or stands still does not keep the others' figures waiting. */
const PATIENCE_MS = 2_000;

export class WorkerFigures {
  readonly #waiting = new Map<number, (figures: Figures) => void>();
  /** What each has counted, as it was last heard. */
  readonly #counted = new Map<Worker, Figures>();
  /** Those that did not answer the last time. */
  #silent: ReadonlySet<Worker> = new Set();
  /** What those have counted that have ended. */
  #past: Figures = {};
  #question = 0;

  async ask(workers: Iterable<Worker>): Promise<readonly Figures[]> {
    const all = [...workers].filter((worker) => worker.isConnected());
    // One that did not answer the last time may not do so now.
    const teller = all.find((worker) => !this.#silent.has(worker)) ?? all[0];
    const heard = await Promise.all(all.map((worker) => this.#askOne(worker, worker === teller)));
    const silent = all.filter((_, place) => heard[place] === undefined);
    this.#silent = new Set(silent);
    return [
      this.#past,
      { processesSilent: [[[], silent.length]] },
      ...silent.map((worker) => this.#counted.get(worker) ?? {}),
      // What one has counted that has ended since is among the past.
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
