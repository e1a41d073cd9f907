// Circuit breakers: a link that fails again and again is taken out for some seconds, so that payments with another way take that at
// once. For each organisation by itself: whatever one of them sends, the others' payments go their way.
import type { OrganisationId } from '../values/ids.js';

/** So many failures in a row, without a readable answer between, take a link out. */
export const FAILURES_IN_A_ROW = 5;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 15_000;
/** So many payments at once still try a link that is out, if they have no other way. */
export const MOST_WITHOUT_ANOTHER_WAY = 16;

export interface Out {
  readonly organisations: number;
  readonly sinceMs: number;
}

export interface BreakerNews {
  readonly kind: 'out' | 'in';
  readonly link: string;
  readonly organisationId: OrganisationId;
}

/** A link that has failed for an organisation, and not answered it since. */
class Failing {
  inARow = 0;
  /** Of those that were begun since. */
  underWay = 0;
  /** When it is tried again, if it is out. */
  tryAtMs: number | undefined;
  /** When it was taken out, by the wall clock. */
  outSinceMs = 0;
  pauseMs = FIRST_PAUSE_MS;

  /** Whether a payment that has another way may take this one. After a pause one tries, at a time. */
  isWorthTrying(nowMs: number): boolean {
    return this.tryAtMs === undefined || (nowMs >= this.tryAtMs && this.underWay === 0);
  }
}

/** A readable answer is one, also if it declines. `untold`: it says nothing about the link. */
export type Ending = 'answered' | 'failed' | 'untold';

/** A question that was begun while its link was failing. */
export type Attempt = Failing;

export class Breakers {
  /** By link and organisation. Empty while everything works, so that a payment pays nothing for it. */
  readonly #failing = new Map<string, Map<OrganisationId, Failing>>();

  /** Told once when a link is taken out, once when it is back, for each organisation. */
  constructor(
    private readonly onNews: (news: BreakerNews) => void = () => {},
    private readonly now: () => number = () => performance.now(),
  ) {}

  isWorthTrying(link: string, organisationId: OrganisationId): boolean {
    if (this.#failing.size === 0) return true;
    const failing = this.#failing.get(link)?.get(organisationId);
    // guard(breakers: what fails for one organisation is no reason for another): failing === undefined || failing.isWorthTrying(this.now()) ⇒ [...(this.#failing.get(link)?.values() ?? [])].every((each) => each.isWorthTrying(this.now())) || failing === null
    return failing === undefined || failing.isWorthTrying(this.now());
  }

  /**
   * Before the link is asked: `refused` where it is out, and this is none of those who try it. A payment without another way is: it
   * would fail anyhow. Few at a time, since what is lost on such a link is in doubt.
   */
  begin(
    link: string,
    organisationId: OrganisationId,
    hasAnotherWay: boolean,
  ): Attempt | undefined | 'refused' {
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

  /** After it. */
  end(link: string, organisationId: OrganisationId, ending: Ending, attempt: Attempt | undefined): void {
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
      this.onNews({ kind: 'out', link, organisationId });
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
    if (failing.tryAtMs !== undefined) this.onNews({ kind: 'in', link, organisationId });
  }
}
