-- What operators ask for is carried out by the gateways that run: one takes a request for a while, another goes on should that one die.

-- Those that were done have their transactions. The others were not, and are not any more.
UPDATE operator_request SET expires_at = requested_at WHERE state = 'ready';

ALTER TABLE operator_request
  DROP CONSTRAINT state_known,
  ADD CONSTRAINT state_known CHECK (state IN ('ready', 'waiting', 'approved', 'refused', 'failed', 'done')),
  DROP CONSTRAINT waiting_ends,
  -- Nothing is carried out long after it was asked for.
  ADD CONSTRAINT open_ends CHECK (state NOT IN ('ready', 'waiting', 'approved') OR expires_at IS NOT NULL),
  -- Where it was asked for from, for the journal.
  ADD address text,
  -- The operators as they were when their rights were checked: one that was changed since is asked again. Empty for an account of the system.
  ADD requester_version integer,
  ADD approver_version integer,
  -- Under a key that is not in the database: a request that was made up or changed there is not carried out.
  ADD seal bytea,
  -- Until then it belongs to the gateway that has taken it.
  ADD taken_until timestamptz;

CREATE INDEX operator_request_to_take ON operator_request (expires_at) WHERE state IN ('ready', 'approved');

DO $$
BEGIN
  GRANT UPDATE (state, failure, taken_until) ON operator_request TO tollgate_application;
  -- Nothing of how operators sign in.
  GRANT SELECT (id, name, version, removed_at) ON operator TO tollgate_application;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  NULL;
END $$;

-- What an acquirer knows a merchant by is that merchant's alone: a refund under another's acceptor ID and terminal would be debited to
-- the other. So each terminal with its acceptor ID is held by one merchant at every link that it pays over, or has paid over: what
-- follows a payment goes there, too.
CREATE TABLE acquirer_terminal (
  acquirer text NOT NULL REFERENCES acquirer ON DELETE CASCADE,
  acceptor_id text NOT NULL,
  terminal text NOT NULL,
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  CONSTRAINT terminal_of_one_merchant PRIMARY KEY (acquirer, acceptor_id, terminal),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX acquirer_terminal_by_merchant ON acquirer_terminal (organisation_id, merchant_id);

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

DO $$
DECLARE
  shared text;
BEGIN
  SELECT string_agg(format('merchants %s have acceptor ID %s with terminal %s at %s', merchants, acceptor_id, terminal, acquirer), '; ')
  INTO shared FROM (
    SELECT used.acquirer, m.acceptor_id, terminal, string_agg(m.id::text, ', ' ORDER BY m.id) AS merchants
    FROM merchant m
    JOIN (SELECT id AS merchant_id, acquirer FROM merchant UNION SELECT merchant_id, acquirer FROM route) used ON used.merchant_id = m.id
    JOIN acquirer a ON a.name = used.acquirer
    CROSS JOIN unnest(m.terminals) AS terminal
    WHERE m.acceptor_id IS NOT NULL
    GROUP BY used.acquirer, m.acceptor_id, terminal HAVING count(*) > 1
    ORDER BY used.acquirer, m.acceptor_id, terminal LIMIT 10) AS twice;
  IF shared IS NOT NULL THEN
    RAISE EXCEPTION '%: one acceptor ID with one terminal belongs to one merchant of a link. With the release that ran before, give the others their own (merchant set), and migrate again', shared;
  END IF;
  PERFORM hold_terminals(organisation_id, id) FROM merchant WHERE acceptor_id IS NOT NULL;
  BEGIN
    REVOKE INSERT, UPDATE, DELETE ON acquirer_terminal FROM tollgate_application;
  EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
    NULL;
  END;
END $$;
