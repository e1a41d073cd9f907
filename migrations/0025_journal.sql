-- Who did what, so that nobody can change it unseen: entries have a mark of the process that wrote them and a place in a chain, and
-- transactions and events know their user.

ALTER TABLE journal
  -- Where it was done from: the client's address, or the machine of a command.
  ADD address text,
  -- An HMAC by whoever wrote the entry, under a key that is not in the database, behind a number that is used once. Processes of an
  -- earlier release make none.
  ADD mark bytea;

-- The chain. Each block takes up the entries that have been committed since the last one, and binds the block before it. Entries are
-- written by many processes at once and wait for nobody; one process at a time makes the next block, a moment later.
CREATE TABLE journal_block (
  number bigint PRIMARY KEY CHECK (number > 0),
  made_ms bigint NOT NULL,
  -- Its entries, as the first and the last id of each run of them.
  spans bigint[] NOT NULL,
  first_id bigint NOT NULL,
  last_id bigint NOT NULL,
  -- For each entry, in their order, sixteen bytes of an HMAC of it.
  tags bytea NOT NULL,
  -- Of those without a mark: entries of an earlier release, and entries that nobody of ours has written.
  earlier bigint[] NOT NULL DEFAULT '{}',
  foreign_ids bigint[] NOT NULL DEFAULT '{}',
  -- An HMAC of all of this, and of the hash before it.
  hash bytea NOT NULL
);
CREATE INDEX journal_block_by_first_id ON journal_block (first_id);
CREATE TRIGGER journal_block_append_only BEFORE UPDATE OR DELETE ON journal_block
  FOR EACH ROW EXECUTE FUNCTION journal_is_append_only();
CREATE TRIGGER journal_block_not_emptied BEFORE TRUNCATE ON journal_block
  FOR EACH STATEMENT EXECUTE FUNCTION journal_is_append_only();

CREATE TABLE journal_chain (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Up to this id every entry is in a block, but for those in `journal_gap`.
  chained_up_to bigint NOT NULL DEFAULT 0,
  -- Entries up to this id are those of an earlier release.
  earlier_up_to bigint NOT NULL
);
INSERT INTO journal_chain (earlier_up_to) SELECT coalesce(max(id), 0) FROM journal;

-- Ids that were not there when a block took up higher ones: of transactions that are not committed yet, or never will be.
CREATE TABLE journal_gap (
  first_id bigint PRIMARY KEY,
  last_id bigint NOT NULL,
  noticed_at timestamptz NOT NULL DEFAULT now(),
  -- Every transaction that may still fill it is older than this.
  noticed_before xid8 NOT NULL DEFAULT pg_snapshot_xmax(pg_current_snapshot())
);

-- Operators are people. What they may do, their sign-in link and that they are still operators is sealed like a user.
CREATE TABLE operator (
  name text PRIMARY KEY,
  role text NOT NULL CONSTRAINT role_known CHECK (role IN ('viewer', 'operator', 'administrator')),
  -- Empty: of the whole installation.
  organisation_id integer REFERENCES organisation,
  -- Of the link by which they sign in for the first time, once.
  link_tag bytea,
  link_until timestamptz,
  version integer NOT NULL DEFAULT 0,
  seal bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz,
  CONSTRAINT link_ends CHECK ((link_tag IS NULL) = (link_until IS NULL))
);

ALTER TABLE transaction
  -- The user whose request it was. Empty for those of earlier releases.
  ADD user_id integer;
ALTER TABLE event ADD user_id integer;
ALTER TABLE event_feed ADD user_id integer;

DO $$
BEGIN
  REVOKE UPDATE, DELETE ON journal_block FROM tollgate_application;
  REVOKE INSERT, UPDATE, DELETE ON operator FROM tollgate_application;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  NULL;
END $$;

-- As before, and the user goes along.
CREATE OR REPLACE FUNCTION sequence_events(OUT newest bigint, OUT moved integer, OUT oldest timestamptz)
LANGUAGE plpgsql VOLATILE SET lock_timeout = '2s' AS $$
DECLARE
  most CONSTANT integer := 20000;
  here CONSTANT text := database_lineage();
  state event_sequencer;
  from_xid xid8;
  and_xids xid8[];
  last_id bigint;
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
  IF moved = 0 THEN
    newest := state.position;
    RETURN;
  END IF;
  newest := newest + moved;
  UPDATE event_sequencer SET position = newest, lineage = here, day = event_day(),
    seen = CASE WHEN last_id IS NULL THEN now_seen WHEN state.lineage = here THEN state.seen ELSE '1:1:' END;
END $$;
