// Whether anybody has changed what is sealed, or what it is bound to, by another way than the gateway: every seal is opened, and every token
// is held against the journal.
import type { Prepared } from '../acquirers/contract.js';
import { ItemSeals, type SealedItem } from '../directdebit/files/item-seals.js';
import { WAITING_ITEMS } from '../directdebit/files/item-seals.sql.js';
import { DELETED, type DecidingEntry, journalledSeal } from '../journal/deciding-entries.js';
import { EntrySigner } from '../journal/entry-signer.js';
import type { Misfit } from '../journal/seals.js';
import { checkMerchant } from '../organisations/merchants.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { SEALED_PAYMENT_DETAILS } from '../payments/cards/payment-details.js';
import { DoubtSeals } from '../payments/doubt/doubt-seals.js';
import { isAsAsked, isAsDecided, outcomePlace } from '../payments/outcome-seals.js';
import { OUTCOMES_TO_VERIFY } from '../payments/outcome-seals.sql.js';
import type { StoredOutcome } from '../payments/transaction.js';
import type { Database } from '../postgres/database.js';
import type { MerchantId } from '../values/ids.js';
import { makeInstallationKey } from '../vault/keys/installation-keys.js';
import { withJournalledKeys } from '../vault/keys/journalled-keys.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { type DataKeys, type Place, SealBroken } from '../vault/keys/keys.js';
import { MERCHANTS_WITH_KEYS } from '../vault/keys/rotation.sql.js';
import {
  type SealedRow,
  type SealedRows,
  type SealOwner,
  type TokenSeal,
  tokenPlace,
} from '../vault/keys/sealed-rows.js';
import { SEALED_WALLET_KEYS } from '../wallets/wallet-keys.js';
import { SEALED_WEBHOOK_SECRETS } from '../webhooks/secrets.js';
import { TOKENS_REMOVED, TOKENS_TO_VERIFY } from './seals.sql.js';
import { verifySubjects } from './subjects.js';

export interface SealProblem {
  /** Null of what is no merchant's, such as a link. */
  readonly merchant: MerchantId | null;
  /** For example `token 17`, or `acquirer/visa`. */
  readonly where: string;
  readonly problem:
    | 'the seal does not open'
    | 'an earlier seal was put back'
    | 'was deleted, and is back'
    | 'its customer is gone'
    | 'was removed'
    | 'is not as it was asked for'
    | 'its outcome is not as it was decided'
    | 'what was asked of it does not add up'
    | 'the journal has an entry about it that Tollgate did not write'
    | Misfit;
}

export interface Verified {
  readonly tokens: number;
  readonly transactions: number;
  readonly webhooks: number;
  /** Direct debits that wait for a file. */
  readonly directDebits: number;
  /** Rows that the journal seals: links, merchants, routes, banks, endpoints, users, operators. */
  readonly rows: number;
  readonly problems: readonly SealProblem[];
}

interface TokenToVerify extends SealedRow, TokenSeal {
  readonly journalled: readonly DecidingEntry[] | null;
  readonly owned: boolean;
}

interface OutcomeToVerify {
  readonly stored: StoredOutcome;
  readonly prepared: Prepared;
  readonly attestation: Buffer | null;
  /** What its link had prepared is only in the archive. */
  readonly archived: boolean;
  readonly refundedCents: number;
  readonly completed: boolean;
  readonly voided: boolean;
  readonly refunds: number;
  readonly completions: number;
  readonly voids: number;
}

const PAGE = 1_000;
/** Every version is older than this one. */
const ANY_VERSION = 2_147_483_647;

export function verifySeals(
  database: Database,
  operator: string,
  provider: KeyProvider,
  key: CredentialKey,
  merchant?: number,
): Promise<Verified> {
  return withJournalledKeys(database, operator, provider, async (keys) => {
    await checkMerchant(database, merchant);
    const signer = new EntrySigner(await makeInstallationKey(database, provider, 'journal'));
    const { rows } = await database.query<SealOwner>(MERCHANTS_WITH_KEYS, [merchant ?? null]);
    const verification = new Verification(database, keys, signer);
    for (const owner of rows) await verification.verify(owner);
    const { rows: count, problems } = await verifySubjects(database, key, merchant);
    const found = problems.map(({ subject, merchant: whose = null, problem }) => ({
      merchant: whose,
      where: subject,
      problem,
    }));
    const { problems: others, ...counts } = verification.result;
    return { ...counts, rows: count, problems: [...found, ...others] };
  });
}

class Verification {
  readonly #problems: SealProblem[] = [];
  readonly #counts = { tokens: 0, transactions: 0, webhooks: 0, directDebits: 0 };

  constructor(
    private readonly database: Database,
    private readonly keys: DataKeys,
    private readonly signer: EntrySigner,
  ) {}

  get result(): Omit<Verified, 'rows'> {
    return { ...this.#counts, problems: this.#problems };
  }

  async verify(owner: SealOwner): Promise<void> {
    await this.#tokens(owner);
    await this.#rows(owner, SEALED_PAYMENT_DETAILS, 'transaction');
    await this.#outcomes(owner);
    this.#counts.webhooks += await this.#rows(owner, SEALED_WEBHOOK_SECRETS, 'webhook');
    await this.#rows(owner, SEALED_WALLET_KEYS, 'wallet key');
    for (const simulated of [false, true]) await this.#items(owner, simulated);
  }

  async #tokens(owner: SealOwner): Promise<void> {
    const { organisationId, merchantId } = owner;
    for (let after = 0; ; ) {
      const values = [organisationId, merchantId, after, PAGE];
      const { rows } = await this.database.query<TokenToVerify>(TOKENS_TO_VERIFY, values);
      const last = rows.at(-1);
      if (last === undefined) break;
      for (const row of rows) await this.#token(owner, row);
      this.#counts.tokens += rows.length;
      after = last.id;
    }
    const removed = await this.database.query<{ id: number }>(TOKENS_REMOVED, [organisationId, merchantId]);
    for (const { id } of removed.rows) this.#problem(owner, `token ${id}`, 'was removed');
  }

  async #token(owner: SealOwner, token: TokenToVerify): Promise<void> {
    const { id, sealVersion, owned } = token;
    const where = `token ${id}`;
    const journalled = journalledSeal(token.journalled, this.signer, () =>
      this.#problem(owner, where, 'the journal has an entry about it that Tollgate did not write'),
    );
    if (journalled === DELETED) this.#problem(owner, where, 'was deleted, and is back');
    else if (journalled !== null && journalled !== sealVersion)
      this.#problem(owner, where, 'an earlier seal was put back');
    else if (!owned) this.#problem(owner, where, 'its customer is gone');
    await this.#opens(owner, where, tokenPlace(owner, token), token);
  }

  async #rows(owner: SealOwner, kind: SealedRows, name: string): Promise<number> {
    let count = 0;
    for (let after = 0; ; ) {
      const values = [owner.organisationId, owner.merchantId, ANY_VERSION, PAGE, after, []];
      const { rows } = await this.database.query<SealedRow>(kind.page, values);
      const last = rows.at(-1);
      if (last === undefined) return count;
      for (const row of rows) await this.#opens(owner, `${name} ${row.row}`, kind.place(owner, row), row);
      count += rows.length;
      after = last.row;
    }
  }

  /** Of all transactions, whether they have payment details or not. */
  async #outcomes(owner: SealOwner): Promise<void> {
    for (let after = 0; ; ) {
      const values = [owner.organisationId, owner.merchantId, after, PAGE];
      const { rows } = await this.database.query<OutcomeToVerify>(OUTCOMES_TO_VERIFY, values);
      const last = rows.at(-1);
      if (last === undefined) return;
      for (const row of rows) await this.#outcome(owner, row);
      this.#counts.transactions += rows.length;
      after = last.stored.audit;
    }
  }

  async #outcome(owner: SealOwner, row: OutcomeToVerify): Promise<void> {
    const { stored, refundedCents, refunds, completed, completions, voided, voids } = row;
    const addsUp = refundedCents === refunds && completed === completions > 0 && voided === voids > 0;
    // guard(verification: counters against the operations): if (!addsUp) ⇒ if (false)
    if (!addsUp) this.#changed(owner, stored, 'what was asked of it does not add up');
    // guard(verification: operations as they were asked for): !(await this.#isAsAsked(row)) ⇒ false
    if (!(await this.#isAsAsked(row))) this.#changed(owner, stored, 'is not as it was asked for');
    // guard(verification: every outcome): !(await this.#isSound(stored)) ⇒ false
    if (!(await this.#isSound(stored))) this.#changed(owner, stored, 'its outcome is not as it was decided');
  }

  /** Of operations on an earlier transaction that are decided: an operation on them goes by what their link has prepared. */
  async #isAsAsked({ stored, prepared, attestation, archived }: OutcomeToVerify): Promise<boolean> {
    const { targetAudit } = stored;
    if (targetAudit === null || targetAudit === undefined || archived || stored.status === 'unknown')
      return true;
    return isAsAsked(this.keys, { ...stored, targetAudit, prepared, attestation });
  }

  /** What is in doubt may be decided, or begin to be reversed, while it is looked at. */
  async #isSound(stored: StoredOutcome): Promise<boolean> {
    const { database, keys } = this;
    if (stored.status !== 'unknown') return isAsDecided(keys, stored);
    const doubts = new DoubtSeals({ database, keys });
    return (await doubts.isStillSound(stored)) || doubts.isStillSound(stored);
  }

  #changed(owner: SealOwner, stored: StoredOutcome, problem: SealProblem['problem']): void {
    this.keys.broken(outcomePlace(stored));
    this.#problem(owner, `transaction ${stored.audit}`, problem);
  }

  /** Their accounts were opened with the transactions; their amounts and targets are looked at here. */
  async #items(owner: SealOwner, simulated: boolean): Promise<void> {
    const seals = new ItemSeals(this.database, this.keys);
    for (let after = 0; ; ) {
      const values = [owner.organisationId, owner.merchantId, simulated, null, after, PAGE];
      const { rows } = await this.database.query<SealedItem>(WAITING_ITEMS, values);
      const last = rows.at(-1);
      if (last === undefined) return;
      for (const row of rows) {
        if (!(await opens(() => seals.open(owner, row))))
          this.#problem(owner, `direct debit ${row.audit}`, 'is not as it was asked for');
      }
      this.#counts.directDebits += rows.length;
      after = last.audit;
    }
  }

  async #opens(owner: SealOwner, where: string, place: Place, row: SealedRow): Promise<void> {
    if (!(await opens(() => this.keys.open(place, row.keyVersion, row.sealed))))
      this.#problem(owner, where, 'the seal does not open');
  }

  #problem({ merchantId: merchant }: SealOwner, where: string, problem: SealProblem['problem']): void {
    this.#problems.push({ merchant, where, problem });
  }
}

async function opens(opening: () => Promise<unknown>): Promise<boolean> {
  try {
    await opening();
    return true;
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}
