// Tables with something sealed in their rows: where each seal belongs, and how the rotation goes through them.
import type { Statement } from '../postgres/database.js';
import type { MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import { COUNT_OLDER_TOKENS, OLDER_TOKENS_LEFT, RESEAL_TOKENS, TAKE_OLDER_TOKENS } from './rotation.sql.js';
import type { Place } from './sealing.js';

export interface SealOwner {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}

/** The statements begin with the organisation, the merchant and the newest version. */
export interface SealedRows {
  readonly place: (owner: SealOwner, row: number) => Place;
  /** Whether any row is sealed under an older version, and how many are. */
  readonly left: Statement;
  readonly count: Statement;
  /** Locks a page of them behind a row: `$4` of them, behind `$5`. */
  readonly take: Statement;
  /** Takes `RESEALED`. */
  readonly reseal: Statement;
  /** Pages are in the order of the rows: each begins where the last one ended. */
  readonly inOrder: boolean;
}

/** The card or bank account of a token. */
export function tokenPlace({ organisationId, merchantId }: SealOwner, tokenId: TokenId): Place {
  return { table: 'token', organisationId, merchantId, row: tokenId, field: 'account' };
}

export const SEALED_TOKENS: SealedRows = {
  place: (owner, row) => tokenPlace(owner, row as TokenId),
  left: OLDER_TOKENS_LEFT,
  count: COUNT_OLDER_TOKENS,
  take: TAKE_OLDER_TOKENS,
  reseal: RESEAL_TOKENS,
  inOrder: false,
};
