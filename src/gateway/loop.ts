// A background loop: one run after the other, with a pause between, woken early when there is work.

export interface LoopOptions {
  /** The first run is one pause after the start. */
  readonly pausesFirst?: boolean;
  /** How long it rests at least after a run, although there is work. */
  readonly restMs?: number;
}

export class Loop {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  #endedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly work: () => Promise<unknown>,
    private readonly pauseMs: number,
    private readonly onError: (error: unknown) => void,
    private readonly options: LoopOptions = {},
  ) {}

  start(): this {
    if (this.options.pausesFirst) this.#pause();
    else this.wake();
    return this;
  }

  /** Runs now, or once more after the current run. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.#run();
  }

  /** There is work: runs now, unless it is running or resting. Whoever has seen the work will see it again. */
  runIfRested(): void {
    const { restMs = 0 } = this.options;
    if (this.#running === undefined && performance.now() - this.#endedMs >= restMs) this.wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      do {
        this.#again = false;
        await this.work();
      } while (this.#again && !this.#stopped);
    } catch (error) {
      this.onError(error);
    }
    this.#running = undefined;
    this.#endedMs = performance.now();
    if (!this.#stopped) this.#pause();
  }

  #pause(): void {
    this.#timer = setTimeout(() => this.wake(), this.pauseMs);
  }
}
