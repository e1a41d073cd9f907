-- The installation itself: what all of its processes share, its keys, and the processes that run.

-- The history that this database follows: its cluster, and its timeline, which is a new one whenever a standby is promoted or
-- a backup restored. Empty where the server does not tell.
CREATE FUNCTION database_lineage() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT system_identifier FROM pg_control_system()) || '/'
    || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
EXCEPTION WHEN OTHERS THEN
  RETURN '';
END $$;

-- The timeline in a lineage: a higher one whenever a standby was promoted. 0 where the server does not tell.
CREATE FUNCTION timeline_of(lineage text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT ('x' || lpad(split_part(lineage, '/', 2), 16, '0'))::bit(64)::bigint
$$;

CREATE TABLE gateway (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Goes into every reference sent to an acquirer, so that two installations never send the same one.
  installation text NOT NULL DEFAULT upper(substr(md5(random()::text || clock_timestamp()::text), 1, 6)),
  -- How far the gateway's clock runs ahead of real time (only where every acquirer is simulated).
  -- guard(schema: the clock set back): CHECK (advanced_ms >= 0) ⇒
  advanced_ms bigint NOT NULL DEFAULT 0 CHECK (advanced_ms >= 0),
  -- Proof that the key-encryption key is still the one that everything is sealed under.
  key_proof bytea,
  key_proof_key text,
  -- Absences (see payments) are numbered in the order in which they are made. A request carries the number up to which its process knew
  -- them, all answered, when it received the request: only a later absence can be about it.
  newest_absence bigint NOT NULL DEFAULT 0,
  -- Up to here they are gone. A request that knows less has waited for too long.
  forgotten_absence bigint NOT NULL DEFAULT 0,
  -- The lineage under which audits are handed out. While it is another's, none are leased.
  lineage text NOT NULL DEFAULT '',
  -- When the next sweep begins.
  sweep_at timestamptz NOT NULL DEFAULT now(),
  -- The last settlement day that is closed. Nothing is dated on it, or before it, any more.
  closed_day date NOT NULL DEFAULT '-infinity',
  -- Which way of spreading the tables was applied last; empty on one server.
  distribution integer,
  -- A database that has gone back, to a backup or to a standby that lacked commits: what was processed in the lost time is known to
  -- acquirers and clients only. Until an operator has reconciled that time, nobody is told that a transaction is not there.
  -- From when to when. Empty where nothing is lost, or everything was reconciled.
  lost_from timestamptz,
  lost_until timestamptz,
  -- Who noted it, for as long as it is not in the journal: the key of the journal may come after the database.
  lost_noted_by text,
  -- What this installation is called among others, between which organisations move; and which IDs it gives out, so that no two
  -- installations give out the same.
  cell text NOT NULL DEFAULT 'one' CONSTRAINT cell_named CHECK (cell ~ '^[a-z][a-z0-9-]{0,30}$'),
  cell_number integer NOT NULL DEFAULT 1 CONSTRAINT cell_numbered CHECK (cell_number BETWEEN 1 AND 2000),
  CONSTRAINT lost_time_has_both_ends CHECK ((lost_from IS NULL) = (lost_until IS NULL))
);
INSERT INTO gateway (lineage) VALUES (database_lineage());

-- Without it, or with an earlier count, a claim would pass the fence of a search, and a payer might pay twice; under another name a
-- transaction is not found at its acquirer any more.
-- guard(schema: fences of searches are not set back): NEW.newest_absence < OLD.newest_absence ⇒ false
-- guard(schema: the gateway is called at acquirers as before): NEW.installation <> OLD.installation OR ⇒
-- guard(schema: the row of the gateway is not removed): CREATE TRIGGER gateway_is_not_removed BEFORE DELETE ON gateway FOR EACH ROW EXECUTE FUNCTION gateway_is_kept(); ⇒
CREATE FUNCTION gateway_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the row of the gateway stays, with what it is called at acquirers, and its counters are not set back'
    USING ERRCODE = 'check_violation', TABLE = 'gateway', CONSTRAINT = 'gateway_is_kept';
END $$;
CREATE TRIGGER gateway_is_kept BEFORE UPDATE ON gateway FOR EACH ROW
  WHEN (NEW.installation <> OLD.installation OR NEW.newest_absence < OLD.newest_absence
    OR NEW.forgotten_absence < OLD.forgotten_absence
    -- Only a clock that goes back opens days again.
    OR (NEW.closed_day < OLD.closed_day AND NEW.advanced_ms >= OLD.advanced_ms))
  EXECUTE FUNCTION gateway_is_kept();
CREATE TRIGGER gateway_is_not_removed BEFORE DELETE ON gateway FOR EACH ROW EXECUTE FUNCTION gateway_is_kept();
CREATE TRIGGER gateway_is_not_emptied BEFORE TRUNCATE ON gateway FOR EACH STATEMENT EXECUTE FUNCTION gateway_is_kept();

-- The gateway's time, which may run ahead of real time.
CREATE FUNCTION gateway_now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT now() + advanced_ms * interval '1 millisecond' FROM gateway
$$;

-- Keys of the installation itself, wrapped by the key-encryption key. No login may take one away, and nobody who only writes to the
-- database can put one of their own in its place.
CREATE TABLE installation_key (
  name text PRIMARY KEY,
  key_encryption_key text NOT NULL,
  wrapped bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Makes a key of the installation that is not there. With the rights of its owner: those who serve write nothing else there, and a key
-- that the key-encryption key has not wrapped does not open.
CREATE FUNCTION add_installation_key(name text, key_encryption_key text, wrapped bytea) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO installation_key (name, key_encryption_key, wrapped) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING true
$$;

-- A running gateway process. One that stopped reporting is presumed dead and its open transactions are resolved.
CREATE TABLE process (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  advanced_ms bigint NOT NULL DEFAULT 0,
  -- Up to which number a process has answered its own absences, and up to which it counts as known.
  answered_absence bigint NOT NULL DEFAULT 0,
  known_absence bigint NOT NULL DEFAULT 0,
  -- What a running process says of itself with its heartbeats: where it is, and how many connections of each link it has signed on.
  machine text,
  pid integer,
  links json NOT NULL DEFAULT '[]',
  -- So long after its last heartbeat a process may be presumed dead. It goes by the same time itself, and stops claiming and sending
  -- before: whoever looks after the dead uses the timeout of each, not its own.
  timeout_ms integer NOT NULL DEFAULT 5000 CHECK (timeout_ms > 0),
  -- The release of Tollgate that it runs.
  release text
);
