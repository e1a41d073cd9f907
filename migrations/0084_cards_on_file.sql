-- Credentials on file, results of 3-D Secure checks, and cards that were declined.

ALTER TABLE transaction ADD COLUMN cardholder json, ADD COLUMN network_transaction_id text;
ALTER TABLE token ADD COLUMN network_transaction_id text, ADD COLUMN network_transaction_mark bytea;

CREATE TABLE declined_card (
  organisation_id integer NOT NULL,
  audit integer NOT NULL,
  merchant_id integer NOT NULL,
  tag bytea NOT NULL,
  response_code text NOT NULL,
  advice_code text,
  declined_at timestamptz NOT NULL,
  PRIMARY KEY (organisation_id, audit),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX declined_card_by_tag ON declined_card (merchant_id, tag, declined_at);
CREATE INDEX declined_card_to_forget ON declined_card (declined_at);

CREATE FUNCTION note_retry_forbidden(organisation integer, merchant integer, card bytea, card_mask text)
RETURNS TABLE (id integer, version integer, begins boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  at_now CONSTANT timestamptz := gateway_now();
BEGIN
  RETURN QUERY
  INSERT INTO limit_reached AS r (organisation_id, merchant_id, per, tag, mode, shown, first_at, last_at, goes_on_until)
  VALUES (organisation, merchant, 'retry', card, 'block', card_mask, at_now, at_now, at_now + interval '30 days')
  ON CONFLICT ON CONSTRAINT limit_reached_once DO UPDATE SET
    first_at = CASE WHEN r.goes_on_until <= at_now THEN at_now ELSE r.first_at END,
    last_at = at_now,
    goes_on_until = greatest(excluded.goes_on_until, r.goes_on_until),
    version = r.version + (r.goes_on_until <= at_now)::integer,
    times = CASE WHEN r.goes_on_until <= at_now THEN 1 ELSE r.times + 1 END
  RETURNING r.id, r.version, r.times = 1;
END $$;

DO $$
BEGIN
  GRANT UPDATE (network_transaction_id) ON transaction TO tollgate_application;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the rights of the role tollgate_application on the network IDs of transactions could not be set';
END $$;
