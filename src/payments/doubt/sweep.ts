// The sweep: finds transactions in doubt that nobody looks after, under no lease and not the resolver's. A failover that lost a
// lease can leave them. It runs slowly and in small steps: at each start, after each failover, and once a day.
import type { Database, Queryable } from '../../postgres/database.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import { HAND_TO_RESOLVER } from '../pipeline/record.sql.js';
import { DOUBTS } from '../status.sql.js';
import { ASK_FOR_A_SWEEP, BEGIN_SWEEP, NEXT_TO_SWEEP, SWEPT, UNLEASED, WHOLLY_SWEPT } from './sweep.sql.js';

/** How many audits one run examines: a few milliseconds of PostgreSQL's time. */
const AUDITS = 2_500;
/** The fixed cost of an organisation, in audits. */
const ORGANISATION = 100;
/** A process renews its leases with the first heartbeat after a failover. */
const RENEWED_WITHIN_MS = 60_000;
const REST_MS = 10_000;

interface Found {
  readonly organisationId: OrganisationId;
  readonly audits: readonly number[];
}

interface SweptOrganisation extends Found {
  readonly swept: number;
}

export class Sweep {
  #asked = false;
  #restUntilMs = 0;

  constructor(
    private readonly database: Database,
    private readonly deadlineMs: number,
    /** Called with the transactions handed to the resolver. */
    private readonly onFound: (found: Found) => void = () => {},
  ) {}

  async run(): Promise<void> {
    if (performance.now() < this.#restUntilMs) return;
    if (!this.#asked) await this.database.query(ASK_FOR_A_SWEEP);
    this.#asked = true;
    await this.database.query(BEGIN_SWEEP);
    for (let left = AUDITS; left > 0; ) {
      const swept = await this.database.transaction((connection) => this.#sweepNext(connection, left));
      if (swept === undefined) {
        this.#restUntilMs = performance.now() + REST_MS;
        return;
      }
      if (swept.audits.length > 0) this.onFound(swept);
      left -= swept.swept + ORGANISATION;
    }
  }

  async #sweepNext(connection: Queryable, most: number): Promise<SweptOrganisation | undefined> {
    const { rows } = await connection.query<{ organisationId: OrganisationId; upTo: number }>(NEXT_TO_SWEEP);
    const [next] = rows;
    if (next === undefined) return undefined;
    const { organisationId, upTo } = next;
    const from = Math.max(upTo - most + 1, 1);
    const values = [organisationId, from, upTo, RENEWED_WITHIN_MS + this.deadlineMs];
    const { rows: unleased } = await connection.query<{ audit: Audit; old: boolean }>(UNLEASED, values);
    // guard(sweep: leaves what is young): .filter(({ old }) => old) ⇒
    // guard(sweep: hands over what nobody looks after): { old }) => old ⇒ ) => false
    const audits = unleased.filter(({ old }) => old).map(({ audit }) => audit);
    if (audits.length > 0) {
      const doubts = audits.map((audit) => ({ organisationId, audit }));
      await connection.query(HAND_TO_RESOLVER, DOUBTS.encode(doubts));
    }
    // The sweep stops at a transaction that is too young.
    const young = unleased.findLast(({ old }) => !old);
    const left = young?.audit ?? from - 1;
    await (left > 0
      ? connection.query(SWEPT, [organisationId, left])
      : connection.query(WHOLLY_SWEPT, [organisationId]));
    return { organisationId, audits, swept: upTo - from + 1 };
  }
}
