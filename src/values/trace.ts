// The trace that the client named for a request, and the steps that the request took if they are recorded.

/** What a request waits for. */
export type Step = 'claim' | 'acquirer' | 'record';

export interface TracedStep {
  readonly name: Step;
  /** The acquirer link that was asked. */
  readonly link: string | undefined;
  readonly fromMs: number;
  untilMs: number | undefined;
}

export class Trace {
  readonly steps: TracedStep[] = [];

  constructor(
    readonly traceId: string,
    /** The client's span that the request belongs to. */
    readonly parentId: string,
    /** Whether steps are recorded. */
    readonly recording: boolean,
  ) {}

  /** Ends the previous step. */
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
