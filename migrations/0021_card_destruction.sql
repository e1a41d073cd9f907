-- When sealed cards end. What is declined, has failed or was voided loses its card in the statement that says so. Of the rest every
-- row is looked at twice, along transaction_by_time: soon after it was made, and when it can be refunded no more. No column and no
-- index of `transaction` is needed for it, so that a purchase pays nothing.

ALTER TABLE merchant
  -- For how many days what was paid by card can be refunded, and the card is kept for that.
  ADD card_days integer NOT NULL DEFAULT 120 CHECK (card_days BETWEEN 1 AND 3650);

-- How far the cards of a merchant have been looked at: everything up to these places, in the order of transaction_by_time. Both begin
-- before the first, so that what earlier versions have left is looked at, too.
CREATE TABLE card_review (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  first_at timestamptz NOT NULL DEFAULT '-infinity',
  first_audit integer NOT NULL DEFAULT 0,
  last_at timestamptz NOT NULL DEFAULT '-infinity',
  last_audit integer NOT NULL DEFAULT 0,
  -- When it is this merchant's turn, by the gateway's clock. The one that has waited longest comes first.
  next_at timestamptz NOT NULL DEFAULT '-infinity',
  -- How many cards have been destroyed in its turns.
  destroyed bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (organisation_id, merchant_id),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
) WITH (fillfactor = 50);
CREATE INDEX card_review_in_turns ON card_review (next_at);

-- Cards that end between those two looks, or could not end at the second: undecided ones, those that can be completed or voided.
CREATE TABLE card_held (
  organisation_id integer NOT NULL,
  audit integer NOT NULL,
  merchant_id integer NOT NULL,
  look_at timestamptz NOT NULL,
  PRIMARY KEY (organisation_id, audit)
);
CREATE INDEX card_held_due ON card_held (organisation_id, merchant_id, look_at);

-- Tokens of deleted customers with more payments than could be looked at when the customer was deleted, and how far they have been.
CREATE TABLE card_of_deleted_customer (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  token_id integer NOT NULL,
  up_to_at timestamptz NOT NULL DEFAULT '-infinity',
  up_to_audit integer NOT NULL DEFAULT 0,
  PRIMARY KEY (organisation_id, merchant_id, token_id)
);
