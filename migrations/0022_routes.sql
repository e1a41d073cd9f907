-- Routes: over which link a merchant's cards are paid, by card type, BIN and currency, by share and in which order.

-- When its routes were changed, in microseconds; empty where it has none. A process that knows another version reads them anew. It is no
-- sequence: after a failover that has lost something, that could give a number again.
ALTER TABLE merchant ADD routes_version bigint;

CREATE TABLE route (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  -- A link that operators have added, or one that is part of the program.
  acquirer text NOT NULL,
  -- What it is for. What is empty is for every card.
  card_type text CHECK (card_type ~ '^[a-z]+$'),
  -- First and last, of 6 to 8 digits.
  bin_from text,
  bin_to text,
  currency text CHECK (currency ~ '^[A-Z]{3}$'),
  -- Thousandths of a percent, of the payments of its rank.
  share integer CHECK (share BETWEEN 0 AND 100000),
  place integer NOT NULL DEFAULT 1 CHECK (place BETWEEN 1 AND 1000),
  CONSTRAINT bin_is_a_range CHECK ((bin_from IS NULL) = (bin_to IS NULL)
    AND bin_from ~ '^[0-9]{6,8}$' AND bin_to ~ '^[0-9]{6,8}$' AND length(bin_from) = length(bin_to) AND bin_from <= bin_to),
  CONSTRAINT route_once UNIQUE NULLS NOT DISTINCT (organisation_id, merchant_id, acquirer, card_type, bin_from, bin_to, currency),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX route_by_acquirer ON route (acquirer);
