// The links of a process: which it has, and which of them are open. One that refuses to open is tried again without end; one that
// is put in the place of another takes over when it is open.
import { setTimeout as sleep } from 'node:timers/promises';
import { Breakers, type Out } from './breakers.js';
import type { AcquirerLink, LinkStatus } from './contract.js';
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
  /** Told once when a link fails again and again, whoever it fails for, and once when it answers all of them again. */
  readonly onFailing?: (name: string) => void;
  readonly onAnswering?: (name: string) => void;
}

/** What a process can say of a link that keeps connections. */
export interface LinkReport extends LinkStatus {
  readonly name: string;
  /** For how many organisations it is taken out, where there are any. */
  readonly failingFor?: number;
  /** Since when for the first of them: an instant. */
  readonly failingSince?: string;
}

/** What an attempt to open a link came to. */
type Attempt = { readonly kind: 'opened' } | { readonly kind: 'refused'; readonly reason: unknown };

export class AcquirerLinks {
  readonly #known: Map<string, AcquirerLink>;
  readonly #opened = new Map<string, AcquirerLink>();
  #prepares: boolean;
  readonly #closing = new AbortController();
  /** Of all of them. */
  readonly breakers: Breakers = new Breakers(({ kind, link }) => this.#tell(kind, link));

  /** Where two links have one name, the later one takes the place of the other. */
  constructor(
    links: Iterable<AcquirerLink>,
    private readonly options: LinksOptions,
  ) {
    this.#known = new Map([...links].map((link) => [link.name, link]));
    this.#prepares = this.#anyPrepares();
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

  /** Of all that are known. */
  get names(): string[] {
    return [...this.#known.keys()];
  }

  /** Of those that keep connections, by their names: of the one that is asked, else of the one that is being opened. */
  get reports(): LinkReport[] {
    const { out } = this.breakers;
    const reports: LinkReport[] = [];
    for (const [name, known] of this.#known) {
      const { status } = this.#opened.get(name) ?? known;
      const failing = out.get(name);
      if (status !== undefined) reports.push({ name, ...status, ...(failing && failingOf(failing)) });
    }
    return reports.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Returns when every link is open, or had its chance. */
  async open(): Promise<void> {
    await Promise.all([...this.#known.values()].map((link) => this.#open(link)));
  }

  /**
   * Opens a link that was added or changed. Until it is open, the one whose name it has goes on, and is closed then: what
   * it was asked is finished.
   */
  async put(link: AcquirerLink): Promise<void> {
    this.#known.set(link.name, link);
    this.#prepares = this.#anyPrepares();
    await this.#open(link);
  }

  /** Closes a link that was removed. What is in doubt there stays so until it is put back. */
  async drop(name: string): Promise<void> {
    const dropped = new Set([this.#known.get(name), this.#opened.get(name)]);
    this.#known.delete(name);
    this.#opened.delete(name);
    this.#prepares = this.#anyPrepares();
    await Promise.all([...dropped].map((link) => link && this.#close(link)));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const all = new Set([...this.#known.values(), ...this.#opened.values()]);
    this.#opened.clear();
    await Promise.all([...all].map((link) => this.#close(link)));
  }

  #tell(kind: 'out' | 'in', link: string): void {
    const failingFor = this.breakers.out.get(link)?.organisations ?? 0;
    if (kind === 'out' && failingFor === 1) this.options.onFailing?.(link);
    else if (kind === 'in' && failingFor === 0) this.options.onAnswering?.(link);
  }

  #anyPrepares(): boolean {
    return [...this.#known.values()].some(({ prepare }) => prepare !== undefined);
  }

  #close(link: AcquirerLink): Promise<void> {
    return withinDeadline<void>(() => link.close(), this.options.patienceMs, undefined);
  }

  /** Whether it was dropped, or replaced by another, while it was being opened. */
  #isSuperseded(link: AcquirerLink): boolean {
    return this.#closing.signal.aborted || this.#known.get(link.name) !== link;
  }

  /** False where it is wanted no more: it is closed again then. */
  #use(link: AcquirerLink): boolean {
    if (this.#isSuperseded(link)) {
      void this.#close(link);
      return false;
    }
    const before = this.#opened.get(link.name);
    this.#opened.set(link.name, link);
    if (before !== undefined && before !== link) void this.#close(before);
    return true;
  }

  async #open(link: AcquirerLink): Promise<void> {
    const { patienceMs, onRefused } = this.options;
    const first = attempt(link);
    const late: Attempt = { kind: 'refused', reason: new Error(`not open within ${patienceMs} ms`) };
    const outcome = await withinDeadline(() => first, patienceMs, late);
    if (outcome.kind === 'opened') {
      this.#use(link);
      return;
    }
    if (this.#isSuperseded(link)) return;
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
        if (this.#use(link)) onOpened(link.name);
        return;
      }
      // By chance: not every process comes at once to an acquirer that is back.
      const thisTimeMs = pauseMs * (0.5 + Math.random() / 2);
      await sleep(thisTimeMs, undefined, { ref: false, signal }).catch(() => {});
      if (this.#isSuperseded(link)) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }
}

function failingOf({ organisations, sinceMs }: Out): Pick<LinkReport, 'failingFor' | 'failingSince'> {
  return { failingFor: organisations, failingSince: new Date(sinceMs).toISOString() };
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
