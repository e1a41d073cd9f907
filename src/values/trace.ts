// The trace that a request belongs to, as its client has named it, and the steps that the request has taken, where they are wanted.

/** What a request waits for. */
export type Step = 'claim' | 'acquirer' | 'record';

export interface TracedStep {
  readonly name: Step;
  /** Over which the acquirer was asked. */
  readonly link: string | undefined;
  readonly fromMs: number;
  untilMs: number | undefined;
}

export class Trace {
  readonly steps: TracedStep[] = [];

  constructor(
    readonly traceId: string,
    /** The span of the client's that the request belongs to. */
    readonly parentId: string,
    /** Whether anybody wants to see its steps. */
    readonly recording: boolean,
  ) {}

  /** The step before it is over. */
  enter(name: Step, link?: string): void {
    if (!this.recording) return;
    this.leave();
    this.steps.push({ name, link, fromMs: performance.now(), untilMs: undefined });
  }

  leave(): void {
    const last = this.steps.at(-1);
    if (last !== undefined) last.untilMs ??= performance.now();
  }
}
