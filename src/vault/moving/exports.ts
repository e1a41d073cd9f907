// All tokens of a merchant, opened page by page for whoever takes them to another vault. What is deleted is gone, and what somebody has
// changed in the database is left out.
import type { Queryable } from '../../postgres/database.js';
import type { CustomerId, TokenId } from '../../values/ids.js';
import {
  type Account,
  type AccountType,
  bankAccountFromSecrets,
  cardFromSecrets,
  type ShownAccount,
} from '../account.js';
import { type DataKeys, SealBroken } from '../keys/keys.js';
import { type SealOwner, tokenPlace } from '../keys/sealed-rows.js';
import { COUNT_TOKENS, TOKENS_TO_EXPORT } from './exports.sql.js';

export interface ExportedToken {
  readonly id: TokenId;
  readonly customerId: CustomerId;
  readonly reference: string;
  readonly customerName: string;
  readonly virtualPan: string;
  readonly preferredName: string;
  readonly active: boolean;
  /** What it was called in other vaults, the oldest first. */
  readonly formerIds: readonly string[];
  readonly account: Account;
}

export interface ExportPage {
  readonly tokens: readonly ExportedToken[];
  /** Those that do not open. */
  readonly broken: readonly TokenId[];
}

interface TokenRow extends Omit<ExportedToken, 'account'> {
  readonly accountType: AccountType;
  readonly shown: ShownAccount;
  readonly sealed: Buffer;
  readonly sealVersion: number;
  readonly keyVersion: number;
  readonly journalled: number | null;
}

const PAGE = 500;

export async function countTokens(
  database: Queryable,
  { organisationId, merchantId }: SealOwner,
): Promise<number> {
  const { rows } = await database.query<{ tokens: number }>(COUNT_TOKENS, [organisationId, merchantId]);
  return rows[0]?.tokens ?? 0;
}

/** In the order of their numbers, each page as it is when it is read: no transaction stays open meanwhile. */
export async function* exportedTokens(
  database: Queryable,
  keys: DataKeys,
  owner: SealOwner,
): AsyncGenerator<ExportPage> {
  let after = 0;
  for (;;) {
    const values = [owner.organisationId, owner.merchantId, after, PAGE];
    const { rows } = await database.query<TokenRow>(TOKENS_TO_EXPORT, values);
    const tokens: ExportedToken[] = [];
    const broken: TokenId[] = [];
    for (const row of rows) {
      const account = await open(keys, owner, row);
      if (account === undefined) broken.push(row.id);
      else tokens.push({ ...row, account });
    }
    yield { tokens, broken };
    if (rows.length < PAGE) return;
    after = (rows.at(-1) as TokenRow).id;
  }
}

async function open(keys: DataKeys, owner: SealOwner, row: TokenRow): Promise<Account | undefined> {
  const { accountType, journalled, sealVersion, keyVersion, sealed, shown } = row;
  const place = tokenPlace(owner, row);
  try {
    // As a payment would find it: set back to an earlier account, or brought back after it was deleted.
    if (journalled !== null && journalled !== sealVersion) throw keys.broken(place);
    const secrets = await keys.open(place, keyVersion, sealed);
    if (accountType === 'general_bankaccount')
      return { type: accountType, bankAccount: bankAccountFromSecrets(secrets) };
    const { number, expiry } = cardFromSecrets(secrets);
    return { type: accountType, number, expiry, name: shown['CARD.NAME'] ?? '' };
  } catch (error) {
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}
