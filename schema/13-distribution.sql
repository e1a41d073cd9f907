-- Past one database: where an engine keeps the transactions of each organisation on one of several servers (`tollgate distribute`),
-- all the rest stays on the server that the gateway talks to. Nothing here is used on a plain PostgreSQL.

-- Without rows. Citus commits on one other server before it commits here, and in two phases only where it has written to a table of its
-- own here as well: this is that table.
CREATE TABLE commit_together (
  organisation_id integer
);

-- For statements that change transactions elsewhere, and tell of it here: neither is without the other, whatever crashes.
CREATE FUNCTION commit_together() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM commit_together WHERE organisation_id = 0;
  RETURN NULL;
END $$;

-- Organisations of which something may be in doubt: the resolver asks the servers of these, and no others.
CREATE TABLE organisation_in_doubt (
  organisation_id integer PRIMARY KEY
) WITH (fillfactor = 50);

-- The same for events, which also say of which organisations something is in doubt.
CREATE FUNCTION tell_doubts_together() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM commit_together WHERE organisation_id = 0;
  IF EXISTS (SELECT FROM told WHERE type = 'transaction.unknown') THEN
    INSERT INTO organisation_in_doubt AS o (organisation_id)
    SELECT DISTINCT organisation_id FROM told WHERE type = 'transaction.unknown' ORDER BY organisation_id
    -- Whoever takes it away waits for this commit.
    ON CONFLICT (organisation_id) DO UPDATE SET organisation_id = o.organisation_id;
  END IF;
  RETURN NULL;
END $$;

-- Those with these audits, each of the organisation in the same place.
CREATE FUNCTION transactions_at(organisations integer[], audits integer[]) RETURNS SETOF transaction
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
  one integer;
  of_one integer[];
BEGIN
  FOR one, of_one IN
    SELECT asked.organisation_id, array_agg(DISTINCT asked.audit)
    FROM unnest(organisations, audits) AS asked(organisation_id, audit)
    WHERE asked.organisation_id IS NOT NULL AND asked.audit IS NOT NULL GROUP BY asked.organisation_id
  LOOP
    RETURN QUERY SELECT t.* FROM transaction t WHERE t.organisation_id = one AND t.audit = ANY (of_one);
  END LOOP;
END $$;

-- What was done to one, or asked for.
CREATE FUNCTION operations_on(organisation integer, merchant integer, target integer) RETURNS SETOF transaction
LANGUAGE plpgsql STABLE ROWS 2 AS $$
BEGIN
  RETURN QUERY SELECT t.* FROM transaction t
    WHERE t.organisation_id = organisation AND t.merchant_id = merchant AND t.target_audit = target
    ORDER BY t.created_at, t.audit;
END $$;

CREATE FUNCTION transactions_called(organisation integer, merchant integer, called text) RETURNS SETOF transaction
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
  RETURN QUERY SELECT t.* FROM transaction t
    WHERE t.organisation_id = organisation AND t.merchant_id = merchant AND t.correlation_id = called;
END $$;

-- In doubt, and not the resolver's yet.
CREATE FUNCTION transactions_under_way(organisation integer, first integer, last integer) RETURNS SETOF transaction
LANGUAGE plpgsql STABLE ROWS 2 AS $$
BEGIN
  RETURN QUERY SELECT t.* FROM transaction t WHERE t.organisation_id = organisation AND t.audit BETWEEN first AND last
    AND t.status = 'unknown' AND t.resolve_at IS NULL;
END $$;

-- What the resolver has, so many of each organisation at most.
CREATE FUNCTION transactions_in_doubt(most integer) RETURNS SETOF transaction
LANGUAGE plpgsql STABLE ROWS 10 AS $$
DECLARE
  one integer;
BEGIN
  FOR one IN SELECT organisation_id FROM organisation_in_doubt ORDER BY organisation_id LOOP
    RETURN QUERY SELECT t.* FROM transaction t WHERE t.organisation_id = one AND t.resolve_at IS NOT NULL AND t.status = 'unknown'
      ORDER BY t.resolve_at LIMIT most;
  END LOOP;
END $$;

CREATE FUNCTION transactions_sealed_under(organisation integer, merchant integer, key_version integer) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM transaction t WHERE t.organisation_id = organisation AND t.merchant_id = merchant
    AND t.payment_details_key_version = key_version);
END $$;
