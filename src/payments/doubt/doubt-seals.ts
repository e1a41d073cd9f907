// Whether a transaction in doubt is as commit A has left it: somebody who writes to the database must not have a card sent, or a payment
// reversed, by calling it in doubt.
import type { Prepared } from '../../acquirers/contract.js';
import { openSignerOf, type SignedEntry } from '../../journal/entry-signer.js';
import type { Database } from '../../postgres/database.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { findUnsound, isAsAsked, isAsDecided, outcomePlace, targetAndOperations } from '../outcome-seals.js';
import { GATEWAY_STATUS, type PaymentSeal, paymentDetailsPlace, type StoredOutcome } from '../transaction.js';
import { REVERSALS_BEGUN, REVERSED_BEFORE } from './resolver.sql.js';

/** The row of a transaction, with everything that was sealed of it. */
export interface ClaimedRow {
  readonly stored: StoredOutcome;
  readonly prepared?: Prepared;
  readonly attestation: Buffer | null;
  readonly keyVersion: number | null;
  readonly sealed: Buffer | null;
  readonly paymentMethod: PaymentSeal['paymentMethod'];
}

type DoubtRow = ClaimedRow & { readonly reversing: boolean };

/** Also the target, which a void turns into `voided`. */
type Checked = { readonly isSound: false } | { readonly isSound: true; readonly target?: StoredOutcome };

const UNSOUND: Checked = { isSound: false };

interface DoubtSealsParts {
  readonly database: Database;
  readonly keys: DataKeys;
}

export class DoubtSeals {
  constructor(private readonly parts: DoubtSealsParts) {}

  /** Whether the transaction is in doubt, and its link may be asked about it. What is not sound is reported. */
  async check(row: DoubtRow): Promise<Checked> {
    const checked = await this.#checked(row);
    if (!checked.isSound) this.parts.keys.broken(outcomePlace(row.stored));
    return checked;
  }

  /** The same of the row as it is now, which may be decided by now. Reports nothing. */
  async isStillSound({ organisationId, audit }: StoredOutcome): Promise<boolean> {
    const { database, keys } = this.parts;
    const { rows } = await database.query<DoubtRow>(REVERSED_BEFORE, [organisationId, audit]);
    const [row] = rows;
    if (row === undefined) return false;
    return row.stored.status === 'unknown'
      ? (await this.#checked(row)).isSound
      : isAsDecided(keys, row.stored);
  }

  async #checked(row: DoubtRow): Promise<Checked> {
    const { keys } = this.parts;
    const { stored } = row;
    // guard(doubt: what has an outcome is not in doubt): isAsDecided(keys, stored) ⇒ (stored.status === 'unknown')
    const inDoubt = stored.status === 'unknown' && (await isAsDecided(keys, stored));
    // guard(reversal: only of what the journal says is being reversed): row.reversing === (await this.#hasBegun(stored)) ⇒ true
    const asJournalled = row.reversing === (await this.#hasBegun(stored));
    return inDoubt && asJournalled ? this.#asClaimed(row) : UNSOUND;
  }

  /** Whether a transaction whose reversal the acquirer did not heed may be reversed again, over this link. */
  async checkReversed(row: ClaimedRow, acquirer: string): Promise<boolean> {
    const { keys } = this.parts;
    const { stored } = row;
    // guard(reversal again: over the link that it was sent over): acquirer === stored.acquirer ⇒ true
    const isItsLink = acquirer === stored.acquirer;
    const isReversed = stored.status === 'unknown' || stored.gatewayStatusCode === GATEWAY_STATUS.reversed;
    // guard(reversal again: only of what was reversed): isReversed && (await isAsDecided(keys, stored)) && (await this.#hasBegun(stored)) ⇒ true
    const wasReversed = isReversed && (await isAsDecided(keys, stored)) && (await this.#hasBegun(stored));
    const isSound = isItsLink && wasReversed && (await this.#asClaimed(row)).isSound;
    if (!isSound) keys.broken(outcomePlace(stored));
    return isSound;
  }

  /** The link, the amount, the target and what the link has prepared. The card stays sealed to whoever asks. */
  async #asClaimed({ stored, prepared, attestation, keyVersion, sealed, paymentMethod }: ClaimedRow) {
    const { database, keys } = this.parts;
    const { targetAudit, transactionType } = stored;
    if (targetAudit === null || targetAudit === undefined) {
      const place = paymentDetailsPlace(stored, { ...stored, paymentMethod, prepared });
      // guard(doubt: for the link and the message that it was claimed for): sealed !== null && keyVersion !== null && (await keys.opens(place, keyVersion, sealed)) ⇒ true
      const isSound = sealed !== null && keyVersion !== null && (await keys.opens(place, keyVersion, sealed));
      return isSound ? { isSound } : UNSOUND;
    }
    // guard(doubt: an operation is as it was asked for): isAsAsked(keys, { ...stored, targetAudit, prepared, attestation }) ⇒ true
    const isAsked = await isAsAsked(keys, { ...stored, targetAudit, prepared, attestation });
    const found = isAsked ? await targetAndOperations(database, stored) : undefined;
    if (found === undefined) return UNSOUND;
    const operation = transactionType as 'completion' | 'refund' | 'void';
    // What is being reversed, or was, takes nothing from its target: only the target itself has to be right.
    const operations = stored.status === 'unknown' ? found.operations : [];
    const asked = { ...stored, transactionType: operation, target: found.target, operations };
    return (await findUnsound(keys, asked)) === undefined ? { isSound: true, target: found.target } : UNSOUND;
  }

  async #hasBegun({ organisationId, audit }: StoredOutcome): Promise<boolean> {
    const { database } = this.parts;
    type Entry = SignedEntry & { readonly mark: Buffer | null };
    const { rows } = await database.query<Entry>(REVERSALS_BEGUN, [organisationId, audit]);
    const signer = openSignerOf(database);
    // guard(reversal: an entry of the journal without a MAC begins none): signer?.isSigned(entry, mark) ⇒ true
    return rows.some(({ mark, ...entry }) => signer?.isSigned(entry, mark));
  }
}
