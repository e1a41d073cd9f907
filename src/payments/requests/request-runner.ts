// A gateway's part in what operators ask for: takes requests and carries each out through the pipeline of this process. The correlation
// ID of a request keeps it to one transaction, whoever tries how often: what is found is adopted, what is not there is done.
import { actingMerchant } from '../../organisations/users/callers.js';
import type { CredentialKey } from '../../organisations/users/credentials.js';
import type { Database } from '../../postgres/database.js';
import { Fault, type FaultCode } from '../../values/faults.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import type { Cents } from '../../values/money.js';
import { Refusal } from '../../values/refusal.js';
import type { TargetedWish } from '../pipeline/command.js';
import { type Failure, inWords, isSealed, type RequestRow, requestUnder } from './operator-request.js';
import { callerOf, isAccount, operatorIn, targetOf } from './operator-requests.js';
import { FAIL_REQUEST, FINISH_REQUEST, OPERATOR_NUMBER, TAKE_REQUEST } from './operator-requests.sql.js';

/** The pipeline of payments, as far as operators need it: the very same as requests go through. */
export interface OperatorsPipeline {
  create(wish: TargetedWish): Promise<unknown>;
}

export interface RunnerParts {
  readonly database: Database;
  /** Requests are sealed under it. */
  readonly key: CredentialKey;
  readonly pipeline: OperatorsPipeline;
  /** After so long another process may take what this one has taken. */
  readonly leaseMs: number;
  /** A request that is not as it was sealed. */
  readonly onAltered: (request: RequestRow) => void;
  readonly onError: (error: unknown) => void;
}

interface Taken {
  readonly organisation: OrganisationId;
  readonly id: number;
  readonly correlationId: string;
  /** When it belongs to another, by the database's clock. */
  readonly untilMs: number;
}

/** So many are in hand at once, and so many of one organisation: a slow acquirer of one keeps no other waiting. */
const MOST_AT_ONCE = 16;
const MOST_OF_ORGANISATION = 4;

const FAILURES: { readonly [Code in FaultCode]?: Failure } = {
  merchant_suspended: 'merchant_suspended',
  target_not_completable: 'transaction_not_completable',
  target_not_refundable: 'transaction_not_refundable',
  target_not_voidable: 'transaction_not_voidable',
  transaction_not_found: 'transaction_not_found',
  refund_exceeds_original: 'transaction_not_refundable',
  completion_exceeds_preauthorisation: 'completion_exceeds_rest',
  priced_amount_too_large: 'completion_exceeds_rest',
  no_acquirer: 'acquirer_gone',
};

export class RequestRunner {
  readonly #inHand = new Map<
    number,
    { readonly organisation: OrganisationId; readonly work: Promise<void> }
  >();

  constructor(private readonly parts: RunnerParts) {}

  /** Begins what there is to do, and does not wait for its end. */
  async run(): Promise<void> {
    const { database, leaseMs, onError } = this.parts;
    while (this.#inHand.size < MOST_AT_ONCE) {
      const { rows } = await database.query<Taken>(TAKE_REQUEST, [leaseMs, this.#busyOrganisations()]);
      const [taken] = rows;
      if (taken === undefined) return;
      const { id, organisation } = taken;
      // It takes longer than it should.
      if (this.#inHand.has(id)) return;
      const work = this.#carryOut(taken)
        .catch(onError)
        .finally(() => this.#inHand.delete(id));
      this.#inHand.set(id, { organisation, work });
    }
  }

  /** Returns when nothing is in hand any more. Not to be run again. */
  async finish(): Promise<void> {
    await Promise.all([...this.#inHand.values()].map(({ work }) => work));
  }

  #busyOrganisations(): OrganisationId[] {
    const all = [...this.#inHand.values()].map(({ organisation }) => organisation);
    return [...new Set(all)].filter(
      (one) => all.filter((each) => each === one).length >= MOST_OF_ORGANISATION,
    );
  }

  /** What comes to no end here, because there is no room or no database, is taken again later, as long as it has not expired. */
  async #carryOut({ organisation, id, correlationId, untilMs }: Taken): Promise<void> {
    const { database } = this.parts;
    const find = () => requestUnder(database, organisation, correlationId);
    const request = await find();
    if (request === undefined) return;
    const failure = request.audit === null ? await this.#attempt(request, untilMs) : undefined;
    // By this process or by another one, decided or in doubt: it is there.
    if ((await find())?.audit != null) await database.query(FINISH_REQUEST, [organisation, id]);
    else if (failure !== undefined) await database.query(FAIL_REQUEST, [organisation, id, failure]);
  }

  /** Why it cannot be done, where that is certain. */
  async #attempt(request: RequestRow, untilMs: number): Promise<Failure | undefined> {
    const { key, pipeline, onAltered } = this.parts;
    // guard(operator: what was made up or changed in the database is not carried out): )) ⇒ ) && request.id === 0)
    if (!isSealed(key, request)) {
      onAltered(request);
      return 'request_altered';
    }
    // guard(operator: whoever was changed or removed since has nothing carried out): if (!(await this.#areAsChecked(request))) return 'request_of_changed_operator'; ⇒
    if (!(await this.#areAsChecked(request))) return 'request_of_changed_operator';
    try {
      await pipeline.create(await this.#wishOf(request, untilMs));
    } catch (error) {
      if (error instanceof Refusal && error.code === 'transaction_not_found') return error.code;
      if (!(error instanceof Fault)) throw error;
      return FAILURES[error.code];
    }
    return undefined;
  }

  async #wishOf(request: RequestRow, untilMs: number): Promise<TargetedWish> {
    const { organisation, merchant: merchantId, operation, targetAudit, requestedBy } = request;
    const { database } = this.parts;
    const target = await targetOf(database, organisation, merchantId, targetAudit as Audit);
    const caller = await callerOf(database, requestedBy, target);
    const wish = {
      caller,
      address: '',
      merchant: actingMerchant(caller, merchantId),
      correlationId: request.correlationId,
      reference: target.reference,
      kvps: {},
      targetAudit: target.audit,
      byOperator: {
        actor: requestedBy,
        address: request.address ?? undefined,
        detail: inWords(request),
        untilMs,
      },
    };
    if (operation === 'void') return { operation, ...wish };
    return { operation, ...wish, amountCents: request.amountCents as Cents, currency: request.currency };
  }

  /**
   * Whether those who asked and approved are as they were then: their rights were checked against their seals by a process that may read
   * how they sign in, which this one may not. Whoever has lost a right since has another version.
   */
  async #areAsChecked(request: RequestRow): Promise<boolean> {
    const { requestedBy, requesterVersion, decidedBy, approverVersion } = request;
    const isAsChecked = async (actor: string, version: number | null) => {
      if (isAccount(actor)) return version === null;
      const values = [operatorIn(actor)];
      const { rows } = await this.parts.database.query<{ version: number; removed: boolean }>(
        OPERATOR_NUMBER,
        values,
      );
      return rows[0]?.removed === false && rows[0].version === version;
    };
    if (!(await isAsChecked(requestedBy, requesterVersion))) return false;
    return decidedBy === null || isAsChecked(decidedBy, approverVersion);
  }
}
