-- Past one database: where an engine keeps the transactions of each organisation on one of several servers (`tollgate distribute`), all the
-- rest stays on the server that the gateway talks to. Nothing here is used on a plain PostgreSQL.

ALTER TABLE gateway
  -- Which way of spreading the tables was applied last; empty on one server.
  ADD distribution integer;

-- Without rows. Citus commits on one other server before it commits here, and in two phases only where it has written to a table of its
-- own here as well: this is that table.
CREATE TABLE commit_together (
  organisation_id integer
);

-- Organisations of which something may be in doubt: the resolver asks the servers of these, and no others.
CREATE TABLE organisation_in_doubt (
  organisation_id integer PRIMARY KEY
) WITH (fillfactor = 50);

-- For statements that change transactions elsewhere, and tell of it here: neither is without the other, whatever crashes.
CREATE FUNCTION commit_together() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM commit_together WHERE organisation_id = 0;
  RETURN NULL;
END $$;

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

-- As before. Where transactions are spread, those that hold the correlation IDs are read from the server of each organisation.
CREATE OR REPLACE FUNCTION make_absences(organisations integer[], merchants integer[], correlation_ids text[], making bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE SET lock_timeout = '100ms' AS $$
DECLARE
  next_number bigint;
  spread integer;
  one integer;
  taken text[] := '{}';
  of_one text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tollgate absences'));
  UPDATE gateway SET newest_absence = newest_absence + 1 RETURNING newest_absence, distribution INTO next_number, spread;
  IF spread IS NULL THEN
    INSERT INTO absence (organisation_id, merchant_id, correlation_id, process_id, number)
    SELECT DISTINCT asked.organisation_id, asked.merchant_id, asked.correlation_id, making, next_number
    FROM unnest(organisations, merchants, correlation_ids) AS asked(organisation_id, merchant_id, correlation_id)
    WHERE NOT EXISTS (SELECT FROM transaction t WHERE t.organisation_id = asked.organisation_id
      AND t.merchant_id = asked.merchant_id AND t.correlation_id = asked.correlation_id)
    ON CONFLICT (organisation_id, merchant_id, correlation_id, process_id)
    DO UPDATE SET number = excluded.number, made_at = excluded.made_at;
    RETURN next_number;
  END IF;
  FOR one IN SELECT DISTINCT unnest(organisations) LOOP
    SELECT array_agg(one || '/' || t.merchant_id || '/' || t.correlation_id) INTO of_one FROM transaction t
    WHERE t.organisation_id = one AND t.correlation_id = ANY (correlation_ids);
    taken := taken || coalesce(of_one, '{}');
  END LOOP;
  INSERT INTO absence (organisation_id, merchant_id, correlation_id, process_id, number)
  SELECT DISTINCT asked.organisation_id, asked.merchant_id, asked.correlation_id, making, next_number
  FROM unnest(organisations, merchants, correlation_ids) AS asked(organisation_id, merchant_id, correlation_id)
  WHERE asked.organisation_id || '/' || asked.merchant_id || '/' || asked.correlation_id <> ALL (taken)
  ON CONFLICT (organisation_id, merchant_id, correlation_id, process_id)
  DO UPDATE SET number = excluded.number, made_at = excluded.made_at;
  RETURN next_number;
END $$;

-- Rows of transactions for statements that put them beside tables which stay here: each organisation's are read by one question to the
-- server that has them, whatever the statement is like.

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

-- Events wait for the other servers, too. A commit is decided here, and then told to the server that has the transaction: until that has
-- answered, the lock on the ID of the commit is held. What is told of it, and whatever has a higher id, gets its position afterwards:
-- whoever reads an event finds its transaction as it says.
ALTER TABLE event_sequencer ADD spread boolean NOT NULL DEFAULT false;

CREATE FUNCTION first_unfinished_event(from_xid xid8, and_xids xid8[]) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT min(e.id) FROM event e
  WHERE (e.xid >= from_xid OR e.xid = ANY (and_xids)) AND e.xid::xid IN (
    SELECT l.transactionid FROM pg_locks l WHERE l.locktype = 'transactionid' AND l.granted AND l.mode = 'ExclusiveLock')
$$;

-- As before, and as far as that.
CREATE OR REPLACE FUNCTION sequence_events(OUT newest bigint, OUT moved integer, OUT oldest timestamptz)
LANGUAGE plpgsql VOLATILE SET lock_timeout = '2s' AS $$
DECLARE
  most CONSTANT integer := 20000;
  here CONSTANT text := database_lineage();
  state event_sequencer;
  from_xid xid8;
  and_xids xid8[];
  last_id bigint;
  unfinished bigint;
  now_seen pg_snapshot;
BEGIN
  SELECT * INTO state FROM event_sequencer;
  newest := state.position;
  moved := 0;
  SELECT * INTO from_xid, and_xids FROM unseen_transactions(state.seen, state.lineage, here);
  IF NOT EXISTS (SELECT FROM event WHERE xid >= from_xid OR xid = ANY (and_xids)) THEN
    RETURN;
  END IF;
  -- One at a time. What follows sees all that the one before has committed. Where that one hangs, the feed stands still, and
  -- can be read as far as it has come.
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('tollgate events'));
  EXCEPTION WHEN lock_not_available THEN
    RETURN;
  END;
  SELECT * INTO state FROM event_sequencer;
  SELECT * INTO from_xid, and_xids FROM unseen_transactions(state.seen, state.lineage, here);
  newest := event_positions_begin(state.position, state.day);
  -- Of another lineage than the last time: positions that readers know may be lost, and are not given again.
  IF state.lineage <> here AND state.lineage <> '' THEN
    newest := newest + 1000000000;
  END IF;
  -- A crowd is moved in parts, the lowest ids first.
  SELECT id INTO last_id FROM event WHERE xid >= from_xid OR xid = ANY (and_xids) ORDER BY id OFFSET most LIMIT 1;
  IF state.spread THEN
    -- In the statement that takes them: another one would see more of them than this has asked about.
    WITH finished AS MATERIALIZED (
      SELECT first_unfinished_event(from_xid, and_xids) AS up_to
    ), taken AS (
      DELETE FROM event USING finished
      WHERE (xid >= from_xid OR xid = ANY (and_xids)) AND (last_id IS NULL OR id <= last_id)
        AND (finished.up_to IS NULL OR id < finished.up_to) RETURNING event.*
    ), numbered AS (
      SELECT newest + row_number() OVER (ORDER BY id) AS place, taken.* FROM taken
    ), put AS (
      INSERT INTO event_feed (position, created_at, organisation_id, merchant_id, subject, version, slot, type, data, user_id)
      SELECT place, created_at, organisation_id, merchant_id, subject, version, place / 10000000000 % 64, type, data, user_id
      FROM numbered RETURNING created_at
    )
    SELECT count(*), min(created_at), pg_current_snapshot(), (SELECT up_to FROM finished)
    INTO moved, oldest, now_seen, unfinished FROM put;
    last_id := coalesce(last_id, unfinished);
  ELSE
    WITH taken AS (
      DELETE FROM event WHERE (xid >= from_xid OR xid = ANY (and_xids)) AND (last_id IS NULL OR id <= last_id) RETURNING *
    ), numbered AS (
      SELECT newest + row_number() OVER (ORDER BY id) AS place, taken.* FROM taken
    ), put AS (
      INSERT INTO event_feed (position, created_at, organisation_id, merchant_id, subject, version, slot, type, data, user_id)
      SELECT place, created_at, organisation_id, merchant_id, subject, version, place / 10000000000 % 64, type, data, user_id
      FROM numbered RETURNING created_at
    )
    SELECT count(*), min(created_at), pg_current_snapshot() INTO moved, oldest, now_seen FROM put;
  END IF;
  IF moved = 0 THEN
    newest := state.position;
    RETURN;
  END IF;
  newest := newest + moved;
  UPDATE event_sequencer SET position = newest, lineage = here, day = event_day(),
    seen = CASE WHEN last_id IS NULL THEN now_seen WHEN state.lineage = here THEN state.seen ELSE '1:1:' END;
END $$;
