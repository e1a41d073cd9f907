// Requests by operation and status, and how long they took: counted in fields, and read when somebody looks.
import { DURATIONS, Histogram } from '../../values/histogram.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    figures?: OperationFigures;
  }
}

/** Of one operation. */
export class OperationFigures {
  readonly #byStatus = new Map<number, Histogram>();

  /** By HTTP status. */
  get byStatus(): ReadonlyMap<number, Histogram> {
    return this.#byStatus;
  }

  note(status: number, durationMs: number): void {
    let durations = this.#byStatus.get(status);
    if (durations === undefined) {
      durations = new Histogram(DURATIONS);
      this.#byStatus.set(status, durations);
    }
    durations.observe(durationMs / 1_000);
  }
}

export class RequestFigures {
  readonly #byOperation = new Map<string, OperationFigures>();
  /** For what leads to no operation. */
  readonly nowhere = this.of('none');
  /** By status: what was no request, or did not come whole. */
  readonly unreadable = new Map<number, number>();

  get byOperation(): ReadonlyMap<string, OperationFigures> {
    return this.#byOperation;
  }

  of(operation: string): OperationFigures {
    let figures = this.#byOperation.get(operation);
    if (figures === undefined) {
      figures = new OperationFigures();
      this.#byOperation.set(operation, figures);
    }
    return figures;
  }

  noteUnreadable(status: number): void {
    this.unreadable.set(status, (this.unreadable.get(status) ?? 0) + 1);
  }
}
