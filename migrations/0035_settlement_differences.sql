-- What holding an acquirer's file against a day has found, to be worked through: who has looked at it, when, and what came of it.
CREATE TABLE settlement_difference (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  settlement_date date NOT NULL,
  acquirer text NOT NULL,
  kind text NOT NULL CONSTRAINT difference_kind_known CHECK (kind IN ('missing_here', 'missing_there', 'different', 'wrong')),
  -- The acquirer's; of a line that cannot be read, the number of that line.
  reference text NOT NULL,
  -- What the file says, and what the gateway says, in words; empty where one says nothing.
  there text NOT NULL,
  here text NOT NULL,
  -- Where it is about a transaction of ours.
  organisation_id integer,
  merchant_id integer,
  audit integer,
  found_at timestamptz NOT NULL DEFAULT now(),
  -- As the journal names them.
  found_by text NOT NULL,
  -- A later file for the same day did not have it any more.
  gone_at timestamptz,
  looked_at timestamptz,
  looked_by text,
  note text,
  CONSTRAINT difference_once UNIQUE (settlement_date, acquirer, kind, reference, there),
  CONSTRAINT looked_at_by_somebody CHECK ((looked_at IS NULL) = (looked_by IS NULL) AND (looked_at IS NULL) = (note IS NULL))
);
CREATE INDEX settlement_difference_open ON settlement_difference (settlement_date, id) WHERE looked_at IS NULL AND gone_at IS NULL;

DO $$
BEGIN
  -- Whoever serves finds none, and works through none. What was found is not forgotten.
  REVOKE INSERT, UPDATE, DELETE ON settlement_difference FROM tollgate_application;
  REVOKE DELETE ON settlement_difference FROM tollgate_operator;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  NULL;
END $$;
