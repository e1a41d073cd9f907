-- Links to acquirers that operators add, and what their links keep: STANs, and reversals that are repeated until acknowledged.

-- Of links, over all of them: one that was removed and added again is another.
CREATE SEQUENCE acquirer_version AS integer;

CREATE TABLE acquirer (
  -- The links that are part of the program are no rows here, and nobody else may be called like them.
  name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_-]{0,31}$' AND name NOT IN ('simulator', 'simulated-bank', 'directdebit', 'none')),
  kind text NOT NULL CHECK (kind IN ('iso8583')),
  mode text NOT NULL CHECK (mode IN ('test', 'live')),
  -- Another with each change: a process that knows an earlier one opens the link anew.
  version integer NOT NULL DEFAULT nextval('acquirer_version'),
  host text NOT NULL,
  port integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
  tls boolean NOT NULL DEFAULT false,
  -- Certificates that are trusted in place of the usual ones.
  trusted text,
  dialect text NOT NULL,
  connections integer NOT NULL DEFAULT 1 CHECK (connections BETWEEN 1 AND 32),
  institution text CHECK (institution ~ '^[0-9]{1,11}$'),
  deadline_ms integer NOT NULL DEFAULT 10000 CHECK (deadline_ms BETWEEN 100 AND 120000),
  -- The keys for MACs, sending and receiving, wrapped by the key-encryption key of this name.
  key_encryption_key text,
  mac_keys bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT mac_keys_are_wrapped CHECK ((mac_keys IS NULL) = (key_encryption_key IS NULL))
);

CREATE FUNCTION acquirer_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a link is test or live for good' USING ERRCODE = 'check_violation', CONSTRAINT = 'acquirer_is_kept';
END $$;
CREATE TRIGGER acquirer_is_kept BEFORE UPDATE ON acquirer
  FOR EACH ROW WHEN (OLD.mode <> NEW.mode OR OLD.kind <> NEW.kind OR OLD.name <> NEW.name) EXECUTE FUNCTION acquirer_is_kept();

-- What an acquirer knows a merchant by.
ALTER TABLE merchant
  ADD acceptor_id text CHECK (acceptor_id ~ '^[!-~]([ -~]{0,13}[!-~])?$'),
  ADD terminals text[],
  ADD category_code text CHECK (category_code ~ '^[0-9]{4}$');

-- What a running process says of itself with its heartbeats: where it is, and how many connections of each link it has signed on.
ALTER TABLE process
  ADD machine text,
  ADD pid integer,
  ADD links json NOT NULL DEFAULT '[]';

-- How many STANs of a terminal were ever leased. They go round: the number n is the STAN 1 + n % 999999. By the terminal alone: it is
-- the same one at its host, over whatever link it is reached.
CREATE TABLE stan_counter (
  terminal text PRIMARY KEY,
  leased bigint NOT NULL DEFAULT 0,
  -- The history of the database in which the counter is certain to be past everything that was leased.
  lineage text NOT NULL DEFAULT database_lineage()
);

-- The timeline in a lineage: a higher one whenever a standby was promoted. 0 where the server does not tell.
CREATE FUNCTION timeline_of(lineage text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT ('x' || lpad(split_part(lineage, '/', 2), 16, '0'))::bit(64)::bigint
$$;

-- Which of them were leased lately, and when. A process uses its lease for an hour at most.
CREATE TABLE stan_lease (
  terminal text NOT NULL,
  first bigint NOT NULL,
  leased_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (terminal, first)
);

-- A block of STANs, the first of them and how many: fewer than wanted, or none, where more would come again within a day. Hosts have
-- days of their own, so that none is used again within 26 hours, whatever the hour: a day, an hour of using a lease, and one to spare.
CREATE FUNCTION lease_stans(of_terminal text, wanted integer) RETURNS TABLE (first integer, count integer)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  -- More than can have been leased and lost in a failover.
  ahead CONSTANT integer := 100000;
  round CONSTANT integer := 999999;
  here CONSTANT text := database_lineage();
  begins bigint;
  oldest bigint;
  given integer;
BEGIN
  -- Whoever comes at the same time waits here. A terminal that is not there may have been, in a history that was lost since: in each
  -- timeline of the database a terminal begins somewhere else. So does one that is there, after several failovers too, of which
  -- this server has seen only the last: whatever was leased in between lies between.
  INSERT INTO stan_counter AS c (terminal, leased, lineage)
  VALUES (of_terminal, greatest(timeline_of(here) - 1, 0) * ahead % round, here)
  ON CONFLICT (terminal) DO UPDATE SET lineage = here,
    leased = c.leased + CASE WHEN c.lineage = here THEN 0 ELSE ahead * greatest(timeline_of(here) - timeline_of(c.lineage), 1) END
  RETURNING c.leased INTO begins;
  SELECT min(l.first) INTO oldest FROM stan_lease l
  WHERE l.terminal = of_terminal AND l.leased_at > now() - interval '26 hours';
  -- A block does not reach round the end: it is numbers in a row.
  given := least(wanted, round - (begins - coalesce(oldest, begins)), round - begins % round);
  IF given <= 0 THEN
    RETURN;
  END IF;
  DELETE FROM stan_lease l WHERE l.terminal = of_terminal AND l.leased_at < now() - interval '30 hours';
  INSERT INTO stan_lease (terminal, first) VALUES (of_terminal, begins);
  UPDATE stan_counter c SET leased = begins + given WHERE c.terminal = of_terminal;
  RETURN QUERY SELECT 1 + (begins % round)::integer, given;
END $$;

-- Reversals that were begun, each under the STAN that it is repeated with.
CREATE TABLE acquirer_reversal (
  organisation_id integer NOT NULL,
  acquirer text NOT NULL,
  -- Of the order, towards the acquirer.
  reference text NOT NULL,
  stan integer NOT NULL CHECK (stan BETWEEN 1 AND 999999),
  -- Of a partial approval, for which the order is reversed.
  response_code text,
  authorisation_code text,
  begun_at timestamptz NOT NULL DEFAULT now(),
  acknowledged_at timestamptz,
  PRIMARY KEY (organisation_id, acquirer, reference)
);
CREATE INDEX acquirer_reversal_acknowledged ON acquirer_reversal (acknowledged_at) WHERE acknowledged_at IS NOT NULL;
