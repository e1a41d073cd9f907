import { INTO_EVENTS_WITH_DATA } from '../events/events.sql.js';
import { INTO_JOURNAL, JOURNALLED_SEALS } from '../journal/journal.sql.js';
import { boolean, bytes, columns, integer, json, optionalBytes, text } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { AccountType, ShownAccount } from './account.js';
import { FORGET_CARDS } from './moving/former-ids.sql.js';

/**
 * Writes the events of a change. Reads `changed`: the tokens as they are or were, and what is `told` of them, without their
 * accounts.
 */
const EVENTS = `
    events AS (${INTO_EVENTS_WITH_DATA}
      SELECT organisation_id, merchant_id, id, version, told, (SELECT gateway_now()),
        json_build_object('customerId', customer_id, 'virtualPan', virtual_pan, 'preferredName', preferred_name,
          'active', active), user_id
      FROM changed
    )`;

export const LEASE_TOKEN_IDS: Statement = {
  name: 'lease-token-ids',
  text: `
    UPDATE organisation SET next_token_id = next_token_id + $2 WHERE id = $1
    RETURNING (next_token_id - $2)::integer AS first, (next_token_id - 1)::integer AS last`,
};

export const NEW_TOKENS = columns<{
  readonly organisationId: OrganisationId;
  readonly customerId: CustomerId;
  readonly id: TokenId;
  readonly keyVersion: number;
  readonly active: boolean;
  readonly virtualPan: string;
  readonly accountType: AccountType;
  readonly preferredName: string;
  readonly shown: ShownAccount;
  readonly sealed: Buffer;
  readonly access: {
    readonly merchantId: MerchantId;
    readonly username: string;
    readonly correlationId: string;
    readonly address: string;
    readonly userId: number;
    readonly actor?: string;
  };
  /** For the journal. */
  readonly mac: Buffer | undefined;
}>('asked', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ access }) => access.merchantId),
  customer_id: integer(({ customerId }) => customerId),
  id: integer(({ id }) => id),
  key_version: integer(({ keyVersion }) => keyVersion),
  active: boolean(({ active }) => active),
  virtual_pan: text(({ virtualPan }) => virtualPan),
  account_type: text(({ accountType }) => accountType),
  preferred_name: text(({ preferredName }) => preferredName),
  shown: json(({ shown }) => shown),
  sealed: bytes(({ sealed }) => sealed),
  actor: text(({ access }) => access.actor ?? `user:${access.username}`),
  correlation_id: text(({ access }) => access.correlationId),
  address: text(({ access }) => access.address),
  user_id: integer(({ access }) => access.userId),
  mark: optionalBytes(({ mac }) => mac),
});

/**
 * Adds tokens to existing customers, and journals them. The customers are locked against deletion meanwhile. Returns the result
 * for each: a token whose name or virtual PAN is just being taken is skipped, and of several with one name all but the first.
 */
export const ADD_TOKENS: Statement = {
  name: 'add-tokens',
  // guard(new token: its customer is locked against deletion): FOR KEY SHARE OF c ⇒
  // guard(new token: only for a customer of this merchant): AND c.merchant_id = asked.merchant_id ⇒
  text: `
    WITH asked AS (
      SELECT * FROM ${NEW_TOKENS.rows}
    ), owners AS (
      SELECT c.organisation_id, c.id FROM customer c
      JOIN asked ON c.organisation_id = asked.organisation_id AND c.merchant_id = asked.merchant_id
        AND c.id = asked.customer_id
      FOR KEY SHARE OF c
    ), judged AS (
      SELECT asked.*,
        EXISTS (SELECT FROM owners WHERE owners.organisation_id = asked.organisation_id
          AND owners.id = asked.customer_id) AS owned,
        EXISTS (SELECT FROM token named WHERE named.organisation_id = asked.organisation_id
          AND named.customer_id = asked.customer_id AND named.preferred_name = asked.preferred_name
          AND named.deleted_at IS NULL) AS name_in_use
      FROM asked
    ), added AS (
      INSERT INTO token (organisation_id, merchant_id, customer_id, id, key_version, active, virtual_pan, account_type,
        preferred_name, shown, sealed, version, seal_version)
      SELECT organisation_id, merchant_id, customer_id, id, key_version, active, virtual_pan, account_type,
        preferred_name, shown::json, decode(sealed, 'base64'), 1, 1
      FROM judged WHERE owned AND NOT name_in_use
      ORDER BY organisation_id, customer_id, preferred_name COLLATE "C"
      ON CONFLICT DO NOTHING
      RETURNING *, 'token.created' AS told
    ), changed AS (
      SELECT added.*, asked.user_id FROM added
      JOIN asked ON asked.organisation_id = added.organisation_id AND asked.id = added.id
    ), ${EVENTS}, journalled AS (${INTO_JOURNAL}
      SELECT asked.organisation_id, asked.merchant_id, asked.actor, 'token.created', asked.customer_id, asked.id,
        NULL::integer, asked.correlation_id, asked.address, decode(asked.mark, 'base64')
      FROM asked JOIN changed ON changed.organisation_id = asked.organisation_id AND changed.id = asked.id
    )
    SELECT judged.organisation_id AS "organisationId", judged.id,
      CASE WHEN NOT judged.owned THEN 'no customer' WHEN judged.name_in_use THEN 'name in use'
        WHEN changed.id IS NULL THEN 'conflict' ELSE 'added' END AS ending
    FROM judged LEFT JOIN changed ON changed.organisation_id = judged.organisation_id AND changed.id = judged.id`,
};

const SHOWN = `id, virtual_pan AS "virtualPan", preferred_name AS "preferredName", active, account_type AS "accountType", shown`;

export const TOKEN: Statement = {
  name: 'token',
  // guard(token: looked up only by its merchant): merchant_id = $2 ⇒ $2::integer > 0
  text: `
    SELECT ${SHOWN} FROM token
    WHERE organisation_id = $1 AND merchant_id = $2 AND customer_id = $3 AND id = $4 AND deleted_at IS NULL`,
};

export const TOKENS_OF_CUSTOMER: Statement = {
  name: 'tokens-of-customer',
  text: `
    SELECT ${SHOWN} FROM token
    WHERE organisation_id = $1 AND merchant_id = $2 AND customer_id = $3 AND deleted_at IS NULL AND id > $6
    ORDER BY id LIMIT $4 OFFSET $5`,
};

/** The values that a new account of the token is sealed for. Locks the token. */
export const LOCK_TOKEN: Statement = {
  name: 'lock-token',
  text: `
    SELECT virtual_pan AS "virtualPan", version, seal_version AS "sealVersion" FROM token
    WHERE organisation_id = $1 AND merchant_id = $2 AND customer_id = $3 AND id = $4 AND deleted_at IS NULL
    FOR NO KEY UPDATE`,
};

export const CHANGE_TOKEN: Statement = {
  name: 'change-token',
  // guard(token: changed only by its merchant): merchant_id = $2 ⇒ $2::integer > 0
  text: `
    WITH changed AS (
      UPDATE token SET preferred_name = coalesce($5, preferred_name), active = coalesce($6, active),
        account_type = coalesce($7, account_type), shown = coalesce($8::json, shown), sealed = coalesce($9, sealed),
        key_version = coalesce($10, key_version), version = version + 1, seal_version = coalesce($11, seal_version),
        -- It was another card's.
        network_transaction_id = CASE WHEN $9::bytea IS NULL THEN network_transaction_id END,
        network_transaction_mark = CASE WHEN $9::bytea IS NULL THEN network_transaction_mark END
      WHERE organisation_id = $1 AND merchant_id = $2 AND customer_id = $3 AND id = $4 AND deleted_at IS NULL
      RETURNING *, 'token.updated' AS told, $12::integer AS user_id
    ), without_card AS (
      SELECT organisation_id, id FROM changed WHERE $9::bytea IS NOT NULL
    ), ${FORGET_CARDS}, ${EVENTS}
    SELECT ${SHOWN} FROM changed`,
};

/** Empties tokens. Reads `last`: their rows as they were, since an emptied row no longer has its name. */
// guard(deleted token: gone for payments): false, deleted_at = now(), sealed = NULL, key_version = NULL, ⏎ shown = NULL, preferred_name = NULL ⇒ t.active
const EMPTY = `
    changed AS (
      UPDATE token t SET version = t.version + 1, active = false, deleted_at = now(), sealed = NULL, key_version = NULL,
        shown = NULL, preferred_name = NULL
      FROM last WHERE t.organisation_id = last.organisation_id AND t.id = last.id
      RETURNING t.organisation_id, t.merchant_id, t.id, t.version, t.customer_id, t.virtual_pan, last.preferred_name,
        t.active, 'token.deleted' AS told, last.user_id
    ), without_card AS (
      SELECT organisation_id, id FROM changed
    ), ${FORGET_CARDS}, ${EVENTS}
    SELECT id FROM changed`;

export const DELETE_TOKEN: Statement = {
  name: 'delete-token',
  text: `
    WITH last AS (
      SELECT organisation_id, id, preferred_name, $5::integer AS user_id FROM token
      WHERE organisation_id = $1 AND merchant_id = $2 AND customer_id = $3 AND id = $4 AND deleted_at IS NULL FOR UPDATE
    ), ${EMPTY}`,
};

export const DELETE_TOKENS_OF_CUSTOMER: Statement = {
  name: 'delete-tokens-of-customer',
  text: `
    WITH last AS (
      SELECT organisation_id, id, preferred_name, $4::integer AS user_id FROM token
      WHERE organisation_id = $1 AND merchant_id = $2 AND customer_id = $3 AND deleted_at IS NULL
      ORDER BY id FOR UPDATE
    ), ${EMPTY}`,
};

export const VIRTUAL_PANS = columns<{
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly virtualPan: string;
}>('asked', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
  virtual_pan: text(({ virtualPan }) => virtualPan),
});

/** The columns for payments with virtual PANs; several at once. */
export const USABLE_TOKENS: Statement = {
  name: 'usable-tokens',
  // guard(payment by virtual PAN: only of active tokens): active AND t. ⇒
  // guard(payment by virtual PAN: only of this merchant’s tokens): merchant_id = asked.merchant_id AND t. ⇒
  text: `
    SELECT asked.place, t.id, t.customer_id AS "customerId", t.account_type AS "accountType",
      t.seal_version AS "sealVersion", t.key_version AS "keyVersion", t.sealed, t.network_transaction_id AS "networkTransactionId",
      t.network_transaction_mark AS "networkTransactionMark", ${JOURNALLED_SEALS} AS journalled
    FROM ${VIRTUAL_PANS.places}
    -- The offset keeps the plan from beginning with all tokens, which looks as good while there are none.
    CROSS JOIN LATERAL (SELECT * FROM token
      WHERE organisation_id = asked.organisation_id AND virtual_pan = asked.virtual_pan OFFSET 0) t
    WHERE t.merchant_id = asked.merchant_id AND t.active AND t.deleted_at IS NULL`,
};

/** Of tokens ($2) of an organisation ($1) that still have the account of that seal ($3). The first is kept. */
export const KEEP_NETWORK_IDS: Statement = {
  name: 'keep-network-ids',
  text: `
    UPDATE token t SET network_transaction_id = kept.id, network_transaction_mark = decode(kept.mark, 'base64')
    FROM unnest($2::integer[], $3::integer[], $4::text[], $5::text[]) AS kept(token_id, seal_version, id, mark)
    WHERE t.organisation_id = $1 AND t.id = kept.token_id AND t.seal_version = kept.seal_version AND t.deleted_at IS NULL AND t.network_transaction_id IS NULL`,
};

/** Deleted tokens, too: payments made with them remain. */
export const TOKENS_EVER_OF_CUSTOMER: Statement = {
  name: 'tokens-ever-of-customer',
  text: `
    SELECT id, merchant_id AS "merchantId" FROM token
    WHERE organisation_id = $1 AND customer_id = $2 AND deleted_at IS NULL
    UNION ALL
    SELECT id, merchant_id FROM token
    WHERE organisation_id = $1 AND customer_id = $2 AND deleted_at IS NOT NULL`,
};
