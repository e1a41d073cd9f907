-- What a failover without synchronous replication, or a restored backup, takes back: leases that processes still use, and
-- audits that have been handed out.

-- The history that this database follows: its cluster, and its timeline, which is a new one whenever a standby is promoted or
-- a backup restored. Empty where the server does not tell.
CREATE FUNCTION database_lineage() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT system_identifier FROM pg_control_system()) || '/'
    || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
EXCEPTION WHEN OTHERS THEN
  RETURN '';
END $$;

ALTER TABLE gateway
  -- The lineage under which audits are handed out. While it is another's, none are leased.
  ADD lineage text NOT NULL DEFAULT '',
  -- When the next sweep begins.
  ADD sweep_at timestamptz NOT NULL DEFAULT now();
UPDATE gateway SET lineage = database_lineage();

-- A sweep under way: the audits of an organisation up to this one have still to be looked at, from the newest to the oldest,
-- for transactions in doubt that nobody looks after. Empty most of the time.
CREATE TABLE sweep (
  organisation_id integer PRIMARY KEY,
  up_to integer NOT NULL,
  swept_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sweep_in_turns ON sweep (swept_at);
