-- Events: every change of a status, with a position in a feed in which nothing turns up late.

-- In the order in which the numbers are drawn: a session must not keep some for later.
CREATE SEQUENCE event_id;

-- What a statement writes with its change is a row of `event`. That table is only what has not got a position yet: a sequencer moves
-- whatever it sees there into `event_feed`, one process at a time. So a position is a fact that is stored, and does not hang on
-- transaction IDs, which do not survive a dump. Whoever sees the last version of a subject sees the ones before it too, and they have
-- lower ids: each subject is in order.
CREATE TABLE event (
  -- Of the transaction that wrote it: where to look for what is new.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id bigint NOT NULL DEFAULT nextval('event_id'),
  -- By the gateway's clock.
  created_at timestamptz NOT NULL,
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  -- The audit of a transaction, the id of a customer or token; the type says which.
  subject integer NOT NULL,
  -- Counts the events of a subject from 1.
  version integer NOT NULL,
  type varchar(40) NOT NULL,
  -- What a look-up would have answered of a customer or token, as JSON. Empty for transactions: theirs can be told from their row.
  data varchar(400) NOT NULL DEFAULT '',
  user_id integer,
  -- What one commit tells of several transactions is one row until it gets its positions, of however many organisations they are: to
  -- write and to remove a row for each took PostgreSQL as long as to put it into the feed.
  -- In the place of the columns above, where there are several.
  subjects integer[],
  versions integer[],
  organisations integer[],
  merchants integer[],
  users integer[]
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE INDEX event_by_xid ON event (xid);

-- A position is a day times 10,000,000,000, plus a count. The slots are a ring: each day has one, which it shares with the
-- days 64 before and after it. Nothing has to be made ahead, and a day is emptied at one go, long before its slot is needed again.
CREATE TABLE event_feed (
  position bigint NOT NULL,
  created_at timestamptz NOT NULL,
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  subject integer NOT NULL,
  version integer NOT NULL,
  slot smallint NOT NULL,
  -- Of bounded lengths, so that no partition needs a table for long values.
  type varchar(40) NOT NULL,
  data varchar(400) NOT NULL,
  user_id integer
) PARTITION BY LIST (slot);
CREATE INDEX event_feed_by_position ON event_feed (position);
CREATE INDEX event_feed_of_merchant ON event_feed (organisation_id, merchant_id, position);
-- The events of what has changed more than once, or is not decided yet. An ordinary purchase has one event, and is not in here.
CREATE INDEX event_feed_of_changed ON event_feed (organisation_id, merchant_id, subject, version)
  WHERE version > 1 OR type IN ('transaction.unknown', 'transaction.pending');

DO $$
BEGIN
  FOR slot IN 0..63 LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF event_feed FOR VALUES IN (%s)', 'event_feed_' || slot, slot);
  END LOOP;
END $$;

CREATE TABLE event_sequencer (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- The newest position that was given.
  position bigint NOT NULL DEFAULT 0,
  -- Up to this position events are forgotten.
  forgotten bigint NOT NULL DEFAULT 0,
  -- Every event of a transaction that had ended by then has been moved: where not to look again, under the same lineage. So
  -- neither a transaction that stays open nor rows that cannot be cleaned up make the next round dearer.
  seen pg_snapshot NOT NULL DEFAULT '1:1:',
  lineage text NOT NULL DEFAULT '',
  -- The day, by the server's clock, on which positions were last given.
  day integer NOT NULL DEFAULT 0,
  -- Hides positions in the cursors that clients get: how many events there are is nobody's business.
  cursor_key uuid NOT NULL DEFAULT gen_random_uuid(),
  -- Events wait for the other servers, too. A commit is decided here, and then told to the server that has the transaction: until that has
  -- answered, the lock on the ID of the commit is held. What is told of it, and whatever has a higher id, gets its position afterwards:
  -- whoever reads an event finds its transaction as it says.
  spread boolean NOT NULL DEFAULT false
);
INSERT INTO event_sequencer DEFAULT VALUES;

CREATE FUNCTION event_day() RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT floor(extract(epoch FROM now()) / 86400)::integer
$$;

-- From which position on to count: that of the last event; or the beginning of a day, if a new one has come. A clock that goes
-- back makes no position lower.
-- guard(events: a clock that goes back takes no position back): greatest(last / 10000000000 + 1, event_day()) ⇒ greatest(0, event_day())
CREATE FUNCTION event_positions_begin(last bigint, day integer) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN day = event_day() THEN last ELSE greatest(last / 10000000000 + 1, event_day()) * 10000000000 END
$$;

-- Where events may be that the last round has not seen: of transactions from one on, and of these. Under another lineage, anywhere.
-- guard(events: under another lineage everything is looked at): FROM (SELECT under = here AND here <> '' AS known) lineage ⇒ FROM (SELECT under <> here OR here <> '' AS known) lineage
CREATE FUNCTION unseen_transactions(seen pg_snapshot, under text, here text, OUT from_xid xid8, OUT and_xids xid8[])
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN known THEN pg_snapshot_xmax(seen) ELSE '0' END,
    CASE WHEN known THEN ARRAY(SELECT pg_snapshot_xip(seen)) ELSE '{}' END
  FROM (SELECT under = here AND here <> '' AS known) lineage
$$;

CREATE FUNCTION first_unfinished_event(from_xid xid8, and_xids xid8[]) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT min(e.id) FROM event e
  WHERE (e.xid >= from_xid OR e.xid = ANY (and_xids)) AND e.xid::xid IN (
    SELECT l.transactionid FROM pg_locks l WHERE l.locktype = 'transactionid' AND l.granted AND l.mode = 'ExclusiveLock')
$$;

-- The events of a row, each by itself.
CREATE FUNCTION events_of(e event)
RETURNS TABLE (organisation_id integer, merchant_id integer, subject integer, version integer, user_id integer)
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(o, e.organisation_id), coalesce(m, e.merchant_id), s, v, coalesce(u, e.user_id)
  FROM unnest(e.organisations, e.merchants, coalesce(e.subjects, ARRAY[e.subject]), coalesce(e.versions, ARRAY[e.version]), e.users)
    AS each(o, m, s, v, u)
$$;

-- Moves what is there by now, and says up to which position events are given, how many were moved, and when the oldest of
-- them was made. Where there is nothing to move it writes nothing and waits for nobody.
-- Rows of several events are taken apart: no two events of a row are about the same subject, so that their order among each other says
-- nothing. Where transactions are spread over servers, what is told of an unfinished commit waits, and whatever has a higher id.
-- guard(events: those of one round go by when they were written, and not by when their transactions began): row_number() OVER (ORDER BY id) ⇒ row_number() OVER (ORDER BY xid)
-- guard(events: positions that readers may know are not given again): newest := newest + 1000000000; ⇒ newest := newest;
-- guard(events: a crowd is moved from its beginning): (last_id IS NULL OR id <= last_id) ⇒ (last_id IS NULL OR id >= last_id)
-- guard(events: one at a time gives positions): PERFORM pg_advisory_xact_lock(hashtext('tollgate events')) ⇒ PERFORM 1
CREATE FUNCTION sequence_events(OUT newest bigint, OUT moved integer, OUT oldest timestamptz)
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
  SELECT counted.id INTO last_id FROM (
    SELECT id, sum(coalesce(cardinality(subjects), 1)) OVER (ORDER BY id) AS events FROM event
    WHERE xid >= from_xid OR xid = ANY (and_xids)) counted
  WHERE events > most ORDER BY id LIMIT 1;
  -- In the statement that takes them: another one would see more of them than this has asked about.
  WITH finished AS MATERIALIZED (
    SELECT CASE WHEN state.spread THEN first_unfinished_event(from_xid, and_xids) END AS up_to
  ), taken AS (
    DELETE FROM event
    WHERE (xid >= from_xid OR xid = ANY (and_xids)) AND (last_id IS NULL OR id <= last_id)
      AND (NOT state.spread OR id < coalesce((SELECT up_to FROM finished), 9223372036854775807)) RETURNING *
  ), each AS (
    SELECT taken.id, taken.created_at, told.*, taken.type, taken.data FROM taken CROSS JOIN LATERAL events_of(taken::event) AS told
  ), numbered AS (
    SELECT newest + row_number() OVER (ORDER BY id) AS place, each.* FROM each
  ), put AS (
    INSERT INTO event_feed (position, created_at, organisation_id, merchant_id, subject, version, slot, type, data, user_id)
    SELECT place, created_at, organisation_id, merchant_id, subject, version, place / 10000000000 % 64, type, data, user_id
    FROM numbered RETURNING created_at
  )
  SELECT count(*), min(created_at), pg_current_snapshot(), (SELECT up_to FROM finished)
  INTO moved, oldest, now_seen, unfinished FROM put;
  last_id := coalesce(last_id, unfinished);
  IF moved = 0 THEN
    newest := state.position;
    RETURN;
  END IF;
  newest := newest + moved;
  UPDATE event_sequencer SET position = newest, lineage = here, day = event_day(),
    seen = CASE WHEN last_id IS NULL THEN now_seen WHEN state.lineage = here THEN state.seen ELSE '1:1:' END;
END $$;

-- Empties the slots of all days but today and the days that are kept, and begins the day. It works with the rights of
-- its owner: the gateway's own role may not empty tables. A slot that somebody reads just then is left to the next time; what
-- is in it is forgotten all the same.
CREATE FUNCTION forget_events(kept_days integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  state event_sequencer;
  kept_from bigint;
  last bigint;
  last_old bigint;
  emptied integer := 0;
BEGIN
  PERFORM set_config('lock_timeout', '5s', true);
  PERFORM pg_advisory_xact_lock(hashtext('tollgate events'));
  PERFORM set_config('lock_timeout', '100ms', true);
  SELECT * INTO state FROM event_sequencer;
  state.position := event_positions_begin(state.position, state.day);
  kept_from := (state.position / 10000000000 - kept_days) * 10000000000;
  FOR slot IN 0..63 LOOP
    CONTINUE WHEN pg_relation_size(('event_feed_' || slot)::regclass) = 0;
    EXECUTE format('SELECT max(position) FROM %I', 'event_feed_' || slot) INTO last;
    EXECUTE format('SELECT max(position) FROM %I WHERE position < $1', 'event_feed_' || slot) INTO last_old USING kept_from;
    state.forgotten := greatest(state.forgotten, last_old);
    IF last < kept_from THEN
      BEGIN
        EXECUTE format('TRUNCATE %I', 'event_feed_' || slot);
        emptied := emptied + 1;
      EXCEPTION WHEN lock_not_available THEN
        NULL;
      END;
    END IF;
  END LOOP;
  UPDATE event_sequencer SET position = state.position, forgotten = state.forgotten, day = event_day()
  WHERE position <> state.position OR forgotten <> state.forgotten;
  RETURN emptied;
END $$;
