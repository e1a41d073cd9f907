// A background loop: one run after the other, with a pause between, woken early when there is work.

export interface LoopOptions {
  /** The first run is one pause after the start. */
  readonly pausesFirst?: boolean;
}

export class Loop {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

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
    if (!this.#stopped) this.#pause();
  }

  #pause(): void {
    this.#timer = setTimeout(() => this.wake(), this.pauseMs);
  }
}
