-- An absence: a search has told a client that a correlation ID has no transaction, and the client may pay again under
-- another. A request with that ID that was received before the answer, and had not won the ID by then, must not be
-- processed any more; one that is received later may be.

-- Absences are numbered in the order in which they are made. A request carries the number up to which its process knew
-- them, all answered, when it received the request: only a later absence can be about it.
ALTER TABLE gateway
  ADD newest_absence bigint NOT NULL DEFAULT 0,
  -- Up to here they are gone. A request that knows less has waited for too long.
  ADD forgotten_absence bigint NOT NULL DEFAULT 0;

-- Up to which number a process has answered its own absences, and up to which it counts as known.
ALTER TABLE process
  ADD answered_absence bigint NOT NULL DEFAULT 0,
  ADD known_absence bigint NOT NULL DEFAULT 0;

CREATE TABLE absence (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  correlation_id text COLLATE "C" NOT NULL,
  -- The process that made it. It sees to its own requests itself.
  process_id bigint NOT NULL,
  number bigint NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, merchant_id, correlation_id, process_id)
);
CREATE INDEX absence_by_number ON absence (number);

-- Every claim holds the gate open until it is committed; an absence is made while the gate is closed. So a claim either
-- is visible to the search that follows the absence, or sees the absence. The functions are volatile: each of their
-- queries sees what was committed before it, and not only before the statement that calls them.
CREATE FUNCTION no_absence_after(known bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('tollgate absences'));
  RETURN (SELECT newest_absence <= known FROM gateway);
END $$;

CREATE FUNCTION absent_after(organisation integer, merchant integer, sent text, known bigint, asking bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT forgotten_absence > known FROM gateway) OR EXISTS (
    SELECT FROM absence WHERE organisation_id = organisation AND merchant_id = merchant AND correlation_id = sent
      AND number > known AND process_id <> asking);
END $$;

-- Returns the number of the new absences. Correlation IDs that a transaction holds by now are left out.
-- It gives up after a moment: while it waits for a claim that is held up, every other claim waits behind it.
CREATE FUNCTION make_absences(organisations integer[], merchants integer[], correlation_ids text[], making bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET lock_timeout = '100ms' AS $$
DECLARE
  next_number bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tollgate absences'));
  UPDATE gateway SET newest_absence = newest_absence + 1 RETURNING newest_absence INTO next_number;
  INSERT INTO absence (organisation_id, merchant_id, correlation_id, process_id, number)
  SELECT DISTINCT asked.organisation_id, asked.merchant_id, asked.correlation_id, making, next_number
  FROM unnest(organisations, merchants, correlation_ids) AS asked(organisation_id, merchant_id, correlation_id)
  WHERE NOT EXISTS (SELECT FROM transaction t WHERE t.organisation_id = asked.organisation_id
    AND t.merchant_id = asked.merchant_id AND t.correlation_id = asked.correlation_id)
  ON CONFLICT (organisation_id, merchant_id, correlation_id, process_id)
  DO UPDATE SET number = excluded.number, made_at = excluded.made_at;
  RETURN next_number;
END $$;
