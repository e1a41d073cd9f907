// The links of a process: which exist, which are open, and which are out of use because they fail. A link that refuses to open is tried
// again without end. A link that replaces another takes over once it is open.
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrganisationId } from '../values/ids.js';
import { type AcquirerLink, type LinkStatus, withinDeadline } from './contract.js';

interface LinksOptions {
  /** How long a start waits for a link to open, and a stop for a link to close. */
  readonly patienceMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Called once for each link that was not open when the start continued. */
  readonly onRefused: (name: string, reason: unknown) => void;
  /** Called when such a link has opened after all. */
  readonly onOpened: (name: string) => void;
  /** Called once when a link keeps failing, for whichever organisation, and once when it answers all of them again. */
  readonly onFailing?: (name: string) => void;
  readonly onAnswering?: (name: string) => void;
}

/** The state of a link with connections in this process. */
export interface LinkReport extends LinkStatus {
  readonly name: string;
  /** For how many organisations the link is out of use, if any. */
  readonly failingFor?: number;
  /** Since when for the first of them, as ISO 8601 text. */
  readonly failingSince?: string;
}

/** The outcome of an attempt to open a link. */
type Opening = { readonly kind: 'opened' } | { readonly kind: 'refused'; readonly reason: unknown };

export class AcquirerLinks {
  readonly #known: Map<string, AcquirerLink>;
  readonly #opened = new Map<string, AcquirerLink>();
  #prepares: boolean;
  readonly #closing = new AbortController();
  /** The circuit breakers of all links. */
  readonly breakers: Breakers = new Breakers(({ kind, link }) => this.#report(kind, link));

  /** Of two links with one name, the later replaces the other. */
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

  /** The link of this name if it is open; others are not asked. */
  opened(name: string): AcquirerLink | undefined {
    return this.#opened.get(name);
  }

  /** Whether any link has something to store before it is asked. */
  get prepares(): boolean {
    return this.#prepares;
  }

  /** All known links. */
  get names(): string[] {
    return [...this.#known.keys()];
  }

  /** The links with connections, sorted by name: the open link, or the one that is opening. */
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

  /** Returns when every link is open, or had its time. */
  async open(): Promise<void> {
    await Promise.all([...this.#known.values()].map((link) => this.#open(link)));
  }

  /**
   * Opens a link that was added or changed. Until it is open, the old link of this name stays in use; then that is closed after finishing
   * its orders.
   */
  async put(link: AcquirerLink): Promise<void> {
    this.#known.set(link.name, link);
    this.#prepares = this.#anyPrepares();
    await this.#open(link);
  }

  /** Closes a link that was removed. Its transactions in doubt stay so until it is added again. */
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

  #report(kind: 'out' | 'in', link: string): void {
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

  /** Whether the link was dropped or replaced while it was opening. */
  #isSuperseded(link: AcquirerLink): boolean {
    return this.#closing.signal.aborted || this.#known.get(link.name) !== link;
  }

  /** False if the link is no longer wanted; it is then closed again. */
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
    const late: Opening = { kind: 'refused', reason: new Error(`not open within ${patienceMs} ms`) };
    const outcome = await withinDeadline(() => first, patienceMs, late);
    if (outcome.kind === 'opened') {
      this.#use(link);
      return;
    }
    if (this.#isSuperseded(link)) return;
    onRefused(link.name, outcome.reason);
    void this.#untilOpen(link, first);
  }

  async #untilOpen(link: AcquirerLink, first: Promise<Opening>): Promise<void> {
    const { firstPauseMs, longestPauseMs, onOpened } = this.options;
    const { signal } = this.#closing;
    let pauseMs = firstPauseMs;
    // Waits for an attempt that is still under way: a link is never opened twice at the same time.
    for (let opening = first; ; opening = attempt(link)) {
      const { kind } = await opening;
      if (signal.aborted) return;
      if (kind === 'opened') {
        if (this.#use(link)) onOpened(link.name);
        return;
      }
      // Jitter: not all processes return to a recovered acquirer at once.
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

/** A link that throws synchronously has refused, too. */
async function attempt(link: AcquirerLink): Promise<Opening> {
  try {
    await link.open();
    return { kind: 'opened' };
  } catch (reason) {
    return { kind: 'refused', reason };
  }
}

// Circuit breakers: a link that keeps failing is taken out of use for some seconds, so that payments with another route take it at once.
// Separate for each organisation, so that what one sends does not affect the others.

/** A link is taken out after this many failures in a row without a readable answer. */
export const FAILURES_IN_A_ROW = 5;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 15_000;
/** How many payments at a time still try a link that is out, if they have no other route. */
export const MOST_WITHOUT_ANOTHER_WAY = 16;

interface Out {
  readonly organisations: number;
  readonly sinceMs: number;
}

export interface BreakerChange {
  readonly kind: 'out' | 'in';
  readonly link: string;
  readonly organisationId: OrganisationId;
}

/** A link that has failed for an organisation, and not answered it since. */
class Failing {
  inARow = 0;
  /** Attempts that began since the first failure and have not ended. */
  underWay = 0;
  /** When a link that is out is tried again. */
  tryAtMs: number | undefined;
  /** When the link was taken out, by the wall clock. */
  outSinceMs = 0;
  pauseMs = FIRST_PAUSE_MS;

  /** Whether a payment with another route may try this link. After a pause, one payment at a time does. */
  isWorthTrying(nowMs: number): boolean {
    return this.tryAtMs === undefined || (nowMs >= this.tryAtMs && this.underWay === 0);
  }
}

/** A decline is an answer too. `neutral`: it says nothing about the link. */
export type Ending = 'answered' | 'failed' | 'neutral';

export class Breakers {
  /** By link and organisation. Empty while everything works, so that payments pay nothing for it. */
  readonly #failing = new Map<string, Map<OrganisationId, Failing>>();

  /** `onChange` is called for each organisation, when a link is taken out and when it is back. */
  constructor(
    private readonly onChange: (change: BreakerChange) => void = () => {},
    private readonly now: () => number = () => performance.now(),
  ) {}

  isWorthTrying(link: string, organisationId: OrganisationId): boolean {
    if (this.#failing.size === 0) return true;
    const failing = this.#failing.get(link)?.get(organisationId);
    // guard(breakers: what fails for one organisation is no reason for another): failing === undefined || failing.isWorthTrying(this.now()) ⇒ [...(this.#failing.get(link)?.values() ?? [])].every((each) => each.isWorthTrying(this.now())) || failing === null
    return failing === undefined || failing.isWorthTrying(this.now());
  }

  /**
   * Before asking the link: `refused` if the link is out and this payment may not try it. A payment without another route may, because it
   * would fail anyway. Only a few at a time, because payments lost on such a link are in doubt.
   */
  begin(
    link: string,
    organisationId: OrganisationId,
    hasAnotherWay: boolean,
  ): Failing | undefined | 'refused' {
    if (this.#failing.size === 0) return undefined;
    const failing = this.#failing.get(link)?.get(organisationId);
    if (failing === undefined) return undefined;
    const tries =
      // guard(breakers: and not by everybody at once): (!hasAnotherWay && failing.underWay < MOST_WITHOUT_ANOTHER_WAY) ⇒ !hasAnotherWay
      // guard(breakers: the only link there is keeps being tried): MOST_WITHOUT_ANOTHER_WAY ⇒ 0
      failing.isWorthTrying(this.now()) || (!hasAnotherWay && failing.underWay < MOST_WITHOUT_ANOTHER_WAY);
    if (!tries) return 'refused';
    failing.underWay += 1;
    return failing;
  }

  /** After asking the link. */
  end(link: string, organisationId: OrganisationId, ending: Ending, attempt: Failing | undefined): void {
    if (attempt !== undefined) attempt.underWay -= 1;
    if (ending === 'failed') this.#failed(link, organisationId);
    else if (ending === 'answered' && this.#failing.size > 0) this.#answered(link, organisationId);
  }

  /** The links that are out, for how many organisations, and since when for the first of them. */
  get out(): ReadonlyMap<string, Out> {
    const links = new Map<string, Out>();
    for (const [link, organisations] of this.#failing) {
      let [count, sinceMs] = [0, Number.POSITIVE_INFINITY];
      for (const { tryAtMs, outSinceMs } of organisations.values()) {
        if (tryAtMs === undefined) continue;
        count += 1;
        sinceMs = Math.min(sinceMs, outSinceMs);
      }
      if (count > 0) links.set(link, { organisations: count, sinceMs });
    }
    return links;
  }

  #failed(link: string, organisationId: OrganisationId): void {
    let organisations = this.#failing.get(link);
    if (organisations === undefined) {
      organisations = new Map();
      this.#failing.set(link, organisations);
    }
    let failing = organisations.get(organisationId);
    if (failing === undefined) {
      failing = new Failing();
      organisations.set(organisationId, failing);
    }
    failing.inARow += 1;
    const nowMs = this.now();
    if (failing.tryAtMs === undefined) {
      // guard(breakers: a link that fails is taken out): FAILURES_IN_A_ROW ⇒ 1_000_000
      if (failing.inARow < FAILURES_IN_A_ROW) return;
      failing.tryAtMs = nowMs + failing.pauseMs;
      failing.outSinceMs = Date.now();
      this.onChange({ kind: 'out', link, organisationId });
    } else if (nowMs >= failing.tryAtMs) {
      failing.pauseMs = Math.min(failing.pauseMs * 2, LONGEST_PAUSE_MS);
      failing.tryAtMs = nowMs + failing.pauseMs;
    }
  }

  #answered(link: string, organisationId: OrganisationId): void {
    const organisations = this.#failing.get(link);
    const failing = organisations?.get(organisationId);
    if (organisations === undefined || failing === undefined) return;
    organisations.delete(organisationId);
    if (organisations.size === 0) this.#failing.delete(link);
    if (failing.tryAtMs !== undefined) this.onChange({ kind: 'in', link, organisationId });
  }
}
