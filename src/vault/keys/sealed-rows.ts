// Tables with sealed columns: where each seal belongs, and how the rotation reads them.
import type { Statement } from '../../postgres/database.js';
import type { CustomerId, MerchantId, OrganisationId, TokenId } from '../../values/ids.js';
import type { AccountType } from '../account.js';
import type { Place } from './keys.js';
import { COUNT_OLDER_TOKENS, OLDER_TOKENS, OLDER_TOKENS_LEFT, RESEAL_TOKENS } from './rotation.sql.js';

export interface SealOwner {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}

/** A row with a sealed column, as the rotation reads it, with the values that its place depends on. */
export interface SealedRow {
  readonly row: number;
  readonly keyVersion: number;
  readonly sealed: Buffer;
}

/** The statements begin with the organisation, the merchant and the newest version. */
export interface SealedRows {
  place(owner: SealOwner, row: SealedRow): Place;
  /** Whether any row is sealed under an older version, and how many are. */
  readonly left: Statement;
  readonly count: Statement;
  /** A page of `$4` rows after row `$5`, without rows `$6`. */
  readonly page: Statement;
  /** Takes `RESEALED`. */
  readonly reseal: Statement;
  /** Pages are in row order: each begins where the last one ended. */
  readonly inOrder: boolean;
}

/** The same, locked. Rows that another rotation or a request has locked are left to it, or to the next pass. */
export function locked({ name, text }: Statement): Statement {
  // guard(rotation: tokens are locked while they are sealed anew): FOR NO KEY UPDATE SKIP LOCKED ⇒
  return { name: `take-${name}`, text: `${text} FOR NO KEY UPDATE SKIP LOCKED` };
}

/** What the seal of a token is bound to: its owner, its virtual PAN, and which of its accounts it is. */
export interface TokenSeal {
  readonly id: TokenId;
  readonly customerId: CustomerId;
  readonly virtualPan: string;
  readonly accountType: AccountType;
  readonly sealVersion: number;
}

/** The card or bank account of a token. */
export function tokenPlace({ organisationId, merchantId }: SealOwner, token: TokenSeal): Place {
  const { id, customerId, virtualPan, accountType, sealVersion } = token;
  // guard(seal of a token: bound to its number): ${sealVersion} ⇒ -
  // guard(seal of a token: bound to its account type): ${accountType} ⇒ -
  // guard(seal of a token: bound to its virtual PAN): ${virtualPan} ⇒ -
  // guard(seal of a token: bound to its customer): ${customerId} ⇒ -
  const says = `${customerId}/${virtualPan}/${accountType}/${sealVersion}`;
  return { table: 'token', organisationId, merchantId, row: id, field: 'account', says };
}

export const SEALED_TOKENS: SealedRows = {
  place: (owner, token: SealedRow & TokenSeal) => tokenPlace(owner, token),
  left: OLDER_TOKENS_LEFT,
  count: COUNT_OLDER_TOKENS,
  page: OLDER_TOKENS,
  reseal: RESEAL_TOKENS,
  inOrder: false,
};
