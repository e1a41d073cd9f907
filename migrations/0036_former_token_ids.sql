-- What imported tokens were called where they came from. By it the database decides that an import which is run again, or twice at the
-- same time, adds nothing twice: a row is written in the transaction that adds its token.
CREATE TABLE former_token_id (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  former_id text COLLATE "C" NOT NULL,
  -- Whose ID it is, such as `stripe`: two vaults may have given out the same one.
  source text COLLATE "C" NOT NULL,
  customer_id integer NOT NULL,
  token_id integer NOT NULL,
  imported_at timestamptz NOT NULL DEFAULT now(),
  -- By which the same card of the same customer is recognised: an HMAC under a key that is not in the database. Of the first ID that a
  -- token was imported under only, and only as long as the token has that card.
  recognition bytea,
  CONSTRAINT former_token_id_once PRIMARY KEY (organisation_id, merchant_id, former_id, source),
  CONSTRAINT imported_card_once UNIQUE (organisation_id, customer_id, recognition)
);
CREATE INDEX former_ids_of_token ON former_token_id (organisation_id, token_id);

DO $$
BEGIN
  -- Whoever serves imports nothing. What an ID stood for is not forgotten: a token that was deleted would come back with the next import.
  REVOKE INSERT, UPDATE, DELETE ON former_token_id FROM tollgate_application;
  GRANT UPDATE (recognition) ON former_token_id TO tollgate_application;
  REVOKE DELETE ON former_token_id FROM tollgate_operator;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  NULL;
END $$;
