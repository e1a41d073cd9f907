// A merchant's backend that follows the feed of events and is killed again and again: it knows no more than what it has stored, the
// events and where to go on, together.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Event, type Observed, Refused, type Tollgate } from '../../client/src/index.js';
import type { Json } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import type { Installation } from '../../testkit/installation.js';
import { clientOfSeveral, type SeveralGateways } from '../../testkit/several-gateways.js';

/** A gateway that has stood still may find that a request took too long to arrive. */
const NOT_IN_TIME = 408;

export interface FeedReaderOptions extends SeveralGateways {
  readonly merchantId: number;
}

export class FeedReader {
  /** What it has stored. */
  readonly events: Event[] = [];
  #next: string | undefined;
  /** How often it died with a request on its way, and how often nobody could tell it anything. */
  deaths = 0;
  unanswered = 0;
  readonly complaints: string[] = [];
  readonly #client: Tollgate;
  readonly #random: Chance;
  readonly #merchantId: number;

  constructor({ merchantId, ...several }: FeedReaderOptions) {
    this.#merchantId = merchantId;
    this.#random = several.random;
    this.#client = clientOfSeveral({
      ...several,
      outcomeTimeoutMs: 300_000,
      firstPauseMs: 50,
      longestPauseMs: 50,
      observe: (observed) => this.#observe(observed),
    });
  }

  /** Until it is over, and then to the end of the feed. */
  async follow(isOver: () => boolean): Promise<void> {
    for (;;) {
      const last = isOver();
      const found = await this.#read(last);
      if (last && found === 0) return;
      if (found === undefined) await sleep(50);
    }
  }

  /** How many events were stored; undefined where it was killed. */
  async #read(inPeace: boolean): Promise<number | undefined> {
    const random = this.#random;
    const dies = !inPeace && random.percent(20);
    const query = {
      merchant_id: this.#merchantId,
      limit: random.pick([1, 7, 100]),
      wait: inPeace ? 0 : random.pick([0, 0, 1, 5]),
      ...(this.#next !== undefined && { after: this.#next }),
    };
    const signal = dies ? AbortSignal.timeout(random.between(1, 100)) : undefined;
    try {
      for await (const { results, next } of this.#client.events(query, { signal }).pages()) {
        // One commit of its own database.
        this.events.push(...results);
        this.#next = next ?? this.#next;
        return results.length;
      }
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== NOT_IN_TIME) throw error;
      return undefined;
    }
    this.deaths += 1;
    return undefined;
  }

  #observe(observed: Observed): void {
    if (observed.kind === 'no_answer' && observed.reason !== 'cancelled') this.unanswered += 1;
    if (observed.kind !== 'answer' || observed.status === 200) return;
    if (observed.status === 503 || observed.status === NOT_IN_TIME) this.unanswered += 1;
    else this.complaints.push(`the feed answered ${observed.status} ${observed.errorCodes}`);
  }
}

interface Subject {
  /** As events name it: `transaction_17`. */
  readonly name: string;
  readonly version: number;
  /** What the newest event must be. */
  readonly newest: string;
}

/** Customers that are gone have left no row: their own events say how many there were. */
const SUBJECTS = `
  SELECT 'transaction_' || audit AS name, version, 'transaction.' || status AS newest FROM transaction WHERE merchant_id = $1
  UNION ALL
  SELECT 'token_' || id, version, CASE WHEN deleted_at IS NULL THEN 'token.' ELSE 'token.deleted' END FROM token
  WHERE merchant_id = $1
  UNION ALL
  SELECT 'customer_' || id, version, 'customer.' FROM customer WHERE merchant_id = $1`;

export function subjectsOf(installation: Pick<Installation, 'sql' | 'merchantId'>): Promise<Subject[]> {
  return installation.sql(SUBJECTS, [installation.merchantId]);
}

/** Where a follower's events are not every change of every subject, once, in order. */
export function wronglyTold(events: readonly Json[], subjects: readonly Subject[]): string[] {
  const told = new Map<string, Json[]>();
  for (const event of events) {
    const [, , kind, subject] = event.id.split('_');
    const name = `${kind}_${subject}`;
    told.set(name, [...(told.get(name) ?? []), event]);
  }
  const complaints: string[] = [];
  const expected = new Map(subjects.map((subject) => [subject.name, subject]));
  for (const [name, of] of told) {
    const versions = of.map(({ version }) => version);
    if (versions.some((version, at) => version !== at + 1)) complaints.push(`${name}: versions ${versions}`);
    if (!expected.has(name) && of.at(-1)?.type !== 'customer.deleted')
      complaints.push(`${name} is told of and is not there`);
  }
  for (const { name, version, newest } of subjects) {
    const of = told.get(name) ?? [];
    if (of.length !== version) complaints.push(`${name}: ${of.length} events of ${version}`);
    const type = of.at(-1)?.type.replace('directdebit.returned', 'transaction.declined') ?? newest;
    if (!type.startsWith(newest)) complaints.push(`${name}: the last event is ${type}, and it is ${newest}`);
    if (newest === 'customer.' && type === 'customer.deleted')
      complaints.push(`${name} is there, and told deleted`);
  }
  return complaints;
}
