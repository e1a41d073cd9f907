-- Events of one commit are one row until they get their positions, of however many organisations they are.
ALTER TABLE event ADD COLUMN organisations integer[], ADD COLUMN merchants integer[], ADD COLUMN users integer[];

CREATE FUNCTION events_of(e event)
RETURNS TABLE (organisation_id integer, merchant_id integer, subject integer, version integer, user_id integer)
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(o, e.organisation_id), coalesce(m, e.merchant_id), s, v, coalesce(u, e.user_id)
  FROM unnest(e.organisations, e.merchants, coalesce(e.subjects, ARRAY[e.subject]), coalesce(e.versions, ARRAY[e.version]), e.users)
    AS each(o, m, s, v, u)
$$;

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
