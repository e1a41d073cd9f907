// The bank accounts of items, opened for a file: to the account that was given, for the amount that was asked for, or not at all. What
// somebody has changed in the database is kept out of files.

import type { Prepared } from '../../acquirers/contract.js';
import { OWN_BANK_LINK } from '../../acquirers/direct-debit.js';
import { attestedWords, type PaymentSeal, paymentDetailsPlace } from '../../payments/transaction.js';
import type { Database } from '../../postgres/database.js';
import type { BankAccount } from '../../values/bank-account.js';
import type { Audit } from '../../values/ids.js';
import type { Cents } from '../../values/money.js';
import { bankAccountFromSecrets } from '../../vault/account.js';
import { type DataKeys, SealBroken } from '../../vault/keys/keys.js';
import type { SealOwner } from '../../vault/keys/sealed-rows.js';
import { CHECK_HELD, CHECKED, WAITING_ITEMS } from './item-seals.sql.js';

/** What is stored of an item, and of the transaction with which its account is sealed. */
export interface SealedItem {
  readonly audit: Audit;
  /** Whether it waits for the simulated bank. */
  readonly simulated: boolean;
  readonly transactionType: 'purchase' | 'refund' | 'standalone_refund';
  readonly targetAudit: Audit | null;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly prepared: Prepared;
  readonly attestation: Buffer | null;
  readonly accountAudit: Audit;
  /** Of the other transaction. */
  readonly account: Omit<PaymentSeal, 'audit'>;
  readonly sealed: Buffer | null;
  readonly keyVersion: number | null;
}

interface WaitingItem extends SealedItem {
  readonly held: boolean;
}

/** Which items wait for a file. */
export interface Waiting extends SealOwner {
  readonly simulated: boolean;
  readonly dueMs: number | undefined;
  /** How many the file can hold. */
  readonly most: number;
}

const PAGE = 1_000;

export class ItemSeals {
  constructor(
    private readonly database: Database,
    private readonly keys: DataKeys,
  ) {}

  /** Throws `SealBroken` where anything is not as it was asked for. */
  async open(owner: SealOwner, item: SealedItem): Promise<BankAccount> {
    const { accountAudit, sealed, keyVersion } = item;
    const place = paymentDetailsPlace(owner, { ...item.account, audit: accountAudit });
    if (sealed === null || keyVersion === null || !(await this.#isAsAsked(owner, item)))
      throw this.keys.broken({ ...place, row: item.audit });
    return bankAccountFromSecrets(await this.keys.open(place, keyVersion, sealed));
  }

  /** A payment's amount is part of the seal of its account. What is asked of an earlier one was attested. */
  async #isAsAsked(owner: SealOwner, item: SealedItem): Promise<boolean> {
    const { organisationId, merchantId } = owner;
    const {
      audit,
      targetAudit,
      transactionType,
      amountCents,
      currency,
      prepared,
      attestation,
      accountAudit,
      account,
      simulated,
    } = item;
    // The link to its bank is part of the seal of its account.
    // guard(direct debit: lodged with the bank that took it in): if (simulated === (account.acquirer === OWN_BANK_LINK)) return false; ⇒
    if (simulated === (account.acquirer === OWN_BANK_LINK)) return false;
    // guard(direct debit: from the account that was given): if (accountAudit !== (targetAudit ?? audit)) return false; ⇒
    if (accountAudit !== (targetAudit ?? audit)) return false;
    if (targetAudit === null) return true;
    // guard(direct debit: what was not attested is not lodged): false ⇒ true
    if (attestation === null) return false;
    const asked = {
      organisationId,
      merchantId,
      audit,
      transactionType,
      targetAudit,
      amountCents,
      currency,
      prepared,
    };
    // guard(direct debit: a refund as it was attested): this.keys.hasAttested(attestedWords(asked), attestation) ⇒ asked !== undefined
    return this.keys.hasAttested(attestedWords(asked), attestation);
  }

  /** Holds what does not open, and lets go of what was held and opens by now. */
  async check(waiting: Waiting): Promise<void> {
    const { organisationId, merchantId, simulated, dueMs, most } = waiting;
    let good = 0;
    for (let after = 0; good < most; ) {
      const values = [organisationId, merchantId, simulated, dueMs ?? null, after, PAGE];
      const { rows } = await this.database.query<WaitingItem>(WAITING_ITEMS, values);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.audit;
      const checked = await Promise.all(
        rows.map(async (row) => ({ row, opens: await this.#opens(waiting, row) })),
      );
      const changed = checked.filter(({ row, opens }) => row.held === opens);
      if (changed.length > 0)
        await this.database.query(CHECK_HELD, [
          organisationId,
          ...CHECKED.encode(changed.map(({ row, opens }) => ({ audit: row.audit, held: !opens }))),
        ]);
      good += checked.filter(({ opens }) => opens).length;
    }
  }

  async #opens(owner: SealOwner, item: SealedItem): Promise<boolean> {
    try {
      await this.open(owner, item);
      return true;
    } catch (error) {
      if (error instanceof SealBroken) return false;
      throw error;
    }
  }
}
