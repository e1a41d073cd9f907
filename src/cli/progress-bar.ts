// A progress bar for long work: how much, rate and time left. On a terminal it stays on one line; elsewhere it says little.

const WIDTH = 24;
const EVERY_MS = 200;

export class ProgressBar {
  readonly #startedMs = performance.now();
  #shownMs = 0;
  /** Not shown yet. */
  #latest: { readonly done: number; readonly total: number | undefined } | undefined;

  constructor(
    private readonly label: string,
    private readonly unit = 'rows',
  ) {}

  /** Without a total where nobody knows it, as of a pipe. */
  show(done: number, total: number | undefined): void {
    const now = performance.now();
    const finished = total !== undefined && done >= total;
    this.#latest = { done, total };
    if (now - this.#shownMs >= EVERY_MS || finished) this.#write(now);
  }

  /** With what was reached last. */
  end(): void {
    if (this.#latest !== undefined) this.#write(performance.now());
    if (process.stderr.isTTY) process.stderr.write('\n');
  }

  #write(now: number): void {
    if (!process.stderr.isTTY || this.#latest === undefined) return;
    this.#shownMs = now;
    process.stderr.write(`\r\u001b[2K${this.#line(this.#latest.done, this.#latest.total, now)}`);
    this.#latest = undefined;
  }

  #line(done: number, total: number | undefined, now: number): string {
    const perSecond = done / Math.max((now - this.#startedMs) / 1000, 0.001);
    if (total === undefined) return `${this.label} ${done} ${this.unit}, ${Math.round(perSecond)}/s`;
    const share = total === 0 ? 1 : Math.min(done / total, 1);
    const filled = Math.round(share * WIDTH);
    const left = perSecond > 0 ? `${Math.ceil((total - done) / perSecond)} s left` : '';
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    return `${this.label} ${bar} ${done}/${total} ${this.unit}, ${Math.round(perSecond)}/s, ${left}`;
  }
}
