import { bytes, columns, integer, optionalBytes, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { CustomerId, TokenId } from '../../values/ids.js';

/** Reads `without_card`: tokens that have another card from now on, or none. The one that they had is not recognised any more. */
// guard(import: a token that is deleted, or has another card, is not taken for the card that it had): NOT NULL ⇒ NULL
export const FORGET_CARDS = `
    forgotten AS (
      UPDATE former_token_id f SET recognition = NULL FROM without_card gone
      WHERE f.organisation_id = gone.organisation_id AND f.token_id = gone.id AND f.recognition IS NOT NULL
    )`;

export const CLAIMED = columns<{
  readonly formerId: string;
  readonly customerId: CustomerId;
  readonly tokenId: TokenId;
  readonly recognition?: Buffer | undefined;
}>(
  'claimed',
  {
    former_id: text(({ formerId }) => formerId),
    customer_id: integer(({ customerId }) => customerId),
    token_id: integer(({ tokenId }) => tokenId),
    recognition: optionalBytes(({ recognition }) => recognition),
  },
  { after: 3 },
);

/** Of merchant `$2` of organisation `$1`, from source `$3`. Who is inserted may add its token; the others have been here, or their card has. */
export const CLAIM_FORMER_IDS: Statement = {
  name: 'claim-former-ids',
  text: `
    INSERT INTO former_token_id (organisation_id, merchant_id, source, former_id, customer_id, token_id, recognition)
    SELECT $1::integer, $2::integer, $3::text, former_id, customer_id, token_id, decode(recognition, 'base64')
    FROM ${CLAIMED.rows}
    ORDER BY former_id COLLATE "C"
    ON CONFLICT DO NOTHING
    RETURNING former_id AS "formerId"`,
};

const FOUND = `
    f.former_id AS "formerId", f.customer_id AS "customerId", f.token_id AS "tokenId", f.recognition,
      t.virtual_pan AS "virtualPan", t.deleted_at IS NOT NULL AS deleted`;

/** What became of some of a source's IDs. */
export const FORMER_IDS: Statement = {
  name: 'former-ids',
  text: `
    SELECT ${FOUND} FROM former_token_id f
    JOIN token t ON t.organisation_id = f.organisation_id AND t.id = f.token_id
    WHERE f.organisation_id = $1 AND f.merchant_id = $2 AND f.source = $3 AND f.former_id = ANY ($4::text[])`,
};

export const RECOGNISED = columns<{ readonly customerId: CustomerId; readonly recognition: Buffer }>(
  'wanted',
  {
    customer_id: integer(({ customerId }) => customerId),
    recognition: bytes(({ recognition }) => recognition),
  },
  { after: 2 },
);

/** The tokens that have some customers' cards, from whatever source. */
export const IMPORTED_CARDS: Statement = {
  name: 'imported-cards',
  text: `
    SELECT ${FOUND} FROM ${RECOGNISED.rows}
    JOIN former_token_id f ON f.organisation_id = $1 AND f.customer_id = wanted.customer_id
      AND f.recognition = decode(wanted.recognition, 'base64')
    JOIN token t ON t.organisation_id = f.organisation_id AND t.id = f.token_id
    WHERE f.merchant_id = $2`,
};

/** By an ID of before, whatever the source. */
export const TOKENS_BY_FORMER_ID: Statement = {
  name: 'tokens-by-former-id',
  text: `
    SELECT f.source, f.former_id AS "formerId", f.customer_id AS customer, f.token_id AS token, t.virtual_pan AS "virtualPan",
      t.active, t.deleted_at IS NOT NULL AS deleted
    FROM former_token_id f
    JOIN token t ON t.organisation_id = f.organisation_id AND t.id = f.token_id
    WHERE f.organisation_id = $1 AND f.merchant_id = $2 AND f.former_id = $3 ORDER BY f.source`,
};
