// The links of a process: which it has, and which of them are open. One that refuses to open is tried again without end.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquirerLink } from './contract.js';
import { withinDeadline } from './deadline.js';

export interface LinksOptions {
  /** So long a start waits for a link to open, and a stop for one to close. */
  readonly patienceMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Told once for each link that was not open when the start went on. */
  readonly onRefused: (name: string, reason: unknown) => void;
  /** Told when such a link has opened after all. */
  readonly onOpened: (name: string) => void;
}

/** What an attempt to open a link came to. */
type Attempt = { readonly kind: 'opened' } | { readonly kind: 'refused'; readonly reason: unknown };

export class AcquirerLinks {
  readonly #known: ReadonlyMap<string, AcquirerLink>;
  readonly #opened = new Map<string, AcquirerLink>();
  readonly #prepares: boolean;
  readonly #closing = new AbortController();

  /** Where two links have one name, the later one takes the place of the other. */
  constructor(
    links: Iterable<AcquirerLink>,
    private readonly options: LinksOptions,
  ) {
    this.#known = new Map([...links].map((link) => [link.name, link]));
    this.#prepares = [...this.#known.values()].some(({ prepare }) => prepare !== undefined);
  }

  /** The link of this name, open or not. */
  known(name: string): AcquirerLink | undefined {
    return this.#known.get(name);
  }

  /** The link of this name, if it is open: any other is asked nothing. */
  opened(name: string): AcquirerLink | undefined {
    return this.#opened.get(name);
  }

  /** Whether any link wants something to be stored before it is asked. */
  get prepares(): boolean {
    return this.#prepares;
  }

  /** Returns when every link is open, or had its chance. */
  async open(): Promise<void> {
    await Promise.all([...this.#known.values()].map((link) => this.#open(link)));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#opened.clear();
    const { patienceMs } = this.options;
    await Promise.all(
      [...this.#known.values()].map((link) =>
        withinDeadline<void>(() => link.close(), patienceMs, undefined),
      ),
    );
  }

  async #open(link: AcquirerLink): Promise<void> {
    const { patienceMs, onRefused } = this.options;
    const first = attempt(link);
    const late: Attempt = { kind: 'refused', reason: new Error(`not open within ${patienceMs} ms`) };
    const outcome = await withinDeadline(() => first, patienceMs, late);
    if (outcome.kind === 'opened') {
      this.#opened.set(link.name, link);
      return;
    }
    onRefused(link.name, outcome.reason);
    void this.#untilOpen(link, first);
  }

  async #untilOpen(link: AcquirerLink, first: Promise<Attempt>): Promise<void> {
    const { firstPauseMs, longestPauseMs, onOpened } = this.options;
    const { signal } = this.#closing;
    let pauseMs = firstPauseMs;
    // One that is still under way is waited for: a link is never opened twice at the same time.
    for (let opening = first; ; opening = attempt(link)) {
      const { kind } = await opening;
      if (signal.aborted) return;
      if (kind === 'opened') {
        this.#opened.set(link.name, link);
        onOpened(link.name);
        return;
      }
      await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }
}

/** A link that throws before it has promised anything has refused, too. */
async function attempt(link: AcquirerLink): Promise<Attempt> {
  try {
    await link.open();
    return { kind: 'opened' };
  } catch (reason) {
    return { kind: 'refused', reason };
  }
}
