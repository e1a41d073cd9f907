-- Links to acquirers that operators add, which of them a payment goes over, and what the links keep: STANs, and reversals that are
-- repeated until acknowledged.

CREATE TABLE acquirer (
  -- The links that are part of the program are no rows here, and nobody else may be called like them.
  name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_-]{0,31}$' AND name NOT IN ('simulator', 'simulated-bank', 'directdebit',
    'none')),
  kind text NOT NULL CHECK (kind IN ('iso8583')),
  mode text NOT NULL CHECK (mode IN ('test', 'live')),
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
  -- Somebody has said that this live link may go without TLS or MAC in production.
  plaintext_known boolean NOT NULL DEFAULT false,
  CONSTRAINT mac_keys_are_wrapped CHECK ((mac_keys IS NULL) = (key_encryption_key IS NULL))
);

CREATE FUNCTION acquirer_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a link is test or live for good' USING ERRCODE = 'check_violation', CONSTRAINT = 'acquirer_is_kept';
END $$;
CREATE TRIGGER acquirer_is_kept BEFORE UPDATE ON acquirer
  FOR EACH ROW WHEN (OLD.mode <> NEW.mode OR OLD.kind <> NEW.kind OR OLD.name <> NEW.name) EXECUTE FUNCTION acquirer_is_kept();

-- Over which link a merchant's cards are paid, by card type, BIN and currency, by share and in which order.
CREATE TABLE route (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  -- A link that operators have added, or one that is part of the program.
  acquirer text NOT NULL,
  -- What it is for. What is empty is for every card.
  card_type text CHECK (card_type ~ '^[a-z]+$'),
  -- First and last, of 6 to 8 digits.
  bin_from text,
  bin_to text,
  currency text CHECK (currency ~ '^[A-Z]{3}$'),
  -- Thousandths of a percent, of the payments of its rank.
  share integer CHECK (share BETWEEN 0 AND 100000),
  place integer NOT NULL DEFAULT 1 CHECK (place BETWEEN 1 AND 1000),
  CONSTRAINT bin_is_a_range CHECK ((bin_from IS NULL) = (bin_to IS NULL) AND bin_from ~ '^[0-9]{6,8}$' AND bin_to ~
    '^[0-9]{6,8}$' AND length(bin_from) = length(bin_to) AND bin_from <= bin_to),
  CONSTRAINT route_once UNIQUE NULLS NOT DISTINCT (organisation_id, merchant_id, acquirer, card_type, bin_from, bin_to, currency),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX route_by_acquirer ON route (acquirer);

-- What an acquirer knows a merchant by is that merchant's alone: a refund under another's acceptor ID and terminal would be debited to
-- the other. So each terminal with its acceptor ID is held by one merchant at every link that it pays over, or has paid over: what
-- follows a payment goes there, too.
CREATE TABLE acquirer_terminal (
  acquirer text NOT NULL REFERENCES acquirer ON DELETE CASCADE,
  acceptor_id text NOT NULL,
  terminal text NOT NULL,
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  -- guard(acquirers: a terminal with its acceptor ID is one merchant’s): CONSTRAINT terminal_of_one_merchant PRIMARY KEY (acquirer, acceptor_id, terminal), ⇒ CONSTRAINT terminal_of_one_merchant PRIMARY KEY (acquirer, acceptor_id, terminal, merchant_id),
  CONSTRAINT terminal_of_one_merchant PRIMARY KEY (acquirer, acceptor_id, terminal),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX acquirer_terminal_by_merchant ON acquirer_terminal (organisation_id, merchant_id);

-- guard(acquirers: a terminal stays one merchant’s at the links that it has left): UNION SELECT h.acquirer FROM acquirer_terminal h WHERE h.organisation_id = organisation AND h.merchant_id = merchant); ⇒ );
CREATE FUNCTION hold_terminals(organisation integer, merchant integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  links text[];
BEGIN
  SELECT array_agg(a.name) INTO links FROM acquirer a WHERE a.name IN (
    SELECT m.acquirer FROM merchant m WHERE m.organisation_id = organisation AND m.id = merchant
    UNION SELECT r.acquirer FROM route r WHERE r.organisation_id = organisation AND r.merchant_id = merchant
    UNION SELECT h.acquirer FROM acquirer_terminal h WHERE h.organisation_id = organisation AND h.merchant_id = merchant);
  DELETE FROM acquirer_terminal h WHERE h.organisation_id = organisation AND h.merchant_id = merchant;
  INSERT INTO acquirer_terminal (acquirer, acceptor_id, terminal, organisation_id, merchant_id)
  SELECT link, m.acceptor_id, terminal, m.organisation_id, m.id
  FROM merchant m, unnest(links) AS link, unnest(m.terminals) AS terminal
  WHERE m.organisation_id = organisation AND m.id = merchant AND m.acceptor_id IS NOT NULL
  -- Two at once wait for each other in the same order.
  ORDER BY link, terminal;
END $$;

CREATE FUNCTION merchant_holds_terminals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_terminals(NEW.organisation_id, NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER merchant_holds_terminals AFTER INSERT OR UPDATE OF acquirer, acceptor_id, terminals ON merchant
  FOR EACH ROW EXECUTE FUNCTION merchant_holds_terminals();

CREATE FUNCTION routes_hold_terminals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_terminals(routed.organisation_id, routed.merchant_id)
  FROM (SELECT DISTINCT organisation_id, merchant_id FROM added) routed;
  RETURN NULL;
END $$;
CREATE TRIGGER routes_hold_terminals AFTER INSERT ON route
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION routes_hold_terminals();

-- How many STANs of a terminal were ever leased. They go round: the number n is the STAN 1 + n % 999999. By the terminal alone: it is
-- the same one at its host, over whatever link it is reached.
CREATE TABLE stan_counter (
  terminal text PRIMARY KEY,
  leased bigint NOT NULL DEFAULT 0,
  -- The history of the database in which the counter is certain to be past everything that was leased.
  lineage text NOT NULL DEFAULT database_lineage()
);

-- A STAN that was leased is not leased again that day: a reversal under it could hit another payment.
CREATE FUNCTION stan_counter_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a counter of STANs is not set back' USING ERRCODE = 'check_violation', CONSTRAINT = 'stan_counter_is_kept';
END $$;
CREATE TRIGGER stan_counter_is_kept BEFORE UPDATE ON stan_counter
  -- guard(schema: a counter of STANs is not set back): FOR EACH ROW WHEN (NEW.leased < OLD.leased) ⇒ FOR EACH ROW WHEN (false)
  FOR EACH ROW WHEN (NEW.leased < OLD.leased) EXECUTE FUNCTION stan_counter_is_kept();

-- Which of them were leased lately, and when. A process uses its lease for an hour at most.
CREATE TABLE stan_lease (
  terminal text NOT NULL,
  first bigint NOT NULL,
  leased_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (terminal, first)
);

-- A block of STANs, the first of them and how many: fewer than wanted, or none, where more would come again within a day. Hosts have
-- days of their own, so that none is used again within 26 hours, whatever the hour: a day, an hour of using a lease, and one to spare.
-- guard(ISO 8583: no STAN comes again within a day): least(wanted, round - (begins - coalesce(oldest, begins)), round - begins % round) ⇒ least(wanted, round - begins % round)
-- guard(ISO 8583: STANs jump ahead of what a failover lost): CASE WHEN c.lineage = here THEN 0 ELSE ahead * greatest(timeline_of(here) - timeline_of(c.lineage), 1) END ⇒ 0
-- guard(ISO 8583: a terminal whose counter a failover lost begins somewhere else): greatest(timeline_of(here) - 1, 0) * ahead % round ⇒ 0
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
  -- None where the next reversal of the order is to be a new one.
  stan integer CHECK (stan BETWEEN 1 AND 999999),
  -- Of a partial approval, for which the order is reversed.
  response_code text,
  authorisation_code text,
  begun_at timestamptz NOT NULL DEFAULT now(),
  acknowledged_at timestamptz,
  -- A reversal that the host answered with "never seen" is weaker than any other: the host may read the payment later, and charge it.
  -- So the answer is kept, together with what a late approval is known by: the numbers of the order that is reversed.
  terminal text,
  original_stan integer,
  retrieval_reference text,
  -- With which the host acknowledged it, and whether that means "never seen".
  code text,
  unseen boolean NOT NULL DEFAULT false,
  -- When the host approved the order although its reversal had begun.
  approved_at timestamptz,
  -- Its authorisation code, for the next reversal: one that is repeated has the same fields as before.
  approval_code text,
  -- When the order is to be reversed again; `infinity` while the answer to its reversal is still to come.
  again_at timestamptz,
  again_attempts integer NOT NULL DEFAULT 0,
  PRIMARY KEY (organisation_id, acquirer, reference)
);
CREATE INDEX acquirer_reversal_acknowledged ON acquirer_reversal (acknowledged_at) WHERE acknowledged_at IS NOT NULL;
CREATE INDEX acquirer_reversal_original ON acquirer_reversal (acquirer, terminal, original_stan);
CREATE INDEX acquirer_reversal_again ON acquirer_reversal (again_at) WHERE again_at IS NOT NULL;
CREATE INDEX acquirer_reversal_unseen ON acquirer_reversal (acquirer, begun_at) WHERE unseen OR approved_at IS NOT NULL;
