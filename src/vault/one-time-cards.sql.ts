import type { Statement } from '../postgres/database.js';

export const ADD_ONE_TIME_CARD: Statement = {
  name: 'add-one-time-card',
  text: `
    INSERT INTO one_time_card (organisation_id, merchant_id, virtual_pan, expires_at, key_version, sealed)
    VALUES ($1, $2, $3, gateway_now() + $4::integer * interval '1 second', $5, $6)`,
};

/** For the payment with this correlation ID ($4), and for no other: tried again after it was not processed, it gets the card again. */
export const TAKE_ONE_TIME_CARD: Statement = {
  name: 'take-one-time-card',
  // guard(one-time cards: for one payment): AND (taken_by IS NULL OR taken_by = $4) ⇒
  // guard(one-time cards: for some minutes): AND expires_at > gateway_now() ⇒
  // guard(one-time cards: for the merchant that they were given to): AND merchant_id = $2 ⇒ AND $2::integer IS NOT NULL
  text: `
    UPDATE one_time_card SET taken_by = $4
    WHERE organisation_id = $1 AND merchant_id = $2 AND virtual_pan = $3 AND expires_at > gateway_now()
      AND (taken_by IS NULL OR taken_by = $4)
    RETURNING key_version AS "keyVersion", sealed`,
};

export const FORGET_ONE_TIME_CARD: Statement = {
  name: 'forget-one-time-card',
  text: `DELETE FROM one_time_card WHERE organisation_id = $1 AND virtual_pan = $2`,
};

export const FORGET_ONE_TIME_CARDS: Statement = {
  name: 'forget-one-time-cards',
  text: `DELETE FROM one_time_card WHERE expires_at <= gateway_now()`,
};
