import type { Statement } from '../postgres/database.js';

/**
 * For the payment of a merchant ($3) under a correlation ID ($4), and for no other. A copy of that request takes it, too: of them one alone
 * wins the correlation ID. Returns nothing where another payment has it.
 */
export const TAKE_PAYLOAD: Statement = {
  name: 'take-wallet-payload',
  // guard(wallets: a payload is for one payment): WHERE p.merchant_id = excluded.merchant_id AND p.taken_by = excluded.taken_by ⇒
  text: `
    INSERT INTO wallet_payload AS p (organisation_id, tag, merchant_id, taken_by, ends_at)
    VALUES ($1, $2, $3, $4, to_timestamp($5::float / 1000))
    ON CONFLICT (organisation_id, tag) DO UPDATE SET takers = p.takers + 1
      WHERE p.merchant_id = excluded.merchant_id AND p.taken_by = excluded.taken_by
    RETURNING p.takers`,
};

/** By the only request that has taken it: others may have been paid with it. */
export const GIVE_PAYLOAD_BACK: Statement = {
  name: 'give-wallet-payload-back',
  // guard(wallets: a payload that a copy of the request has taken is not given back): AND takers = 1 ⇒
  text: `
    DELETE FROM wallet_payload WHERE organisation_id = $1 AND tag = $2 AND merchant_id = $3 AND taken_by = $4 AND takers = 1`,
};

export const FORGET_PAYLOADS: Statement = {
  name: 'forget-wallet-payloads',
  text: `DELETE FROM wallet_payload WHERE ends_at <= gateway_now() AND organisation_id <> ALL (organisations_elsewhere())`,
};
