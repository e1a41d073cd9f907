-- Settlement: which day every cent belongs to. An entry is written by the statement that sets the status, in the same commit, and
-- never changed. So a day that is closed stays as it is: what comes later is an entry of the day that is open by then.

CREATE TABLE settlement_entry (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  audit integer NOT NULL,
  -- Of a completion, refund or void.
  target_audit integer,
  -- What the merchant gets; below zero, what is taken from it.
  amount_cents bigint NOT NULL,
  settlement_date date NOT NULL,
  -- `return` where a bank has taken back what had been cleared; a void where it undoes something that settles.
  transaction_type text NOT NULL,
  payment_method text NOT NULL,
  card_type text NOT NULL,
  currency text NOT NULL,
  acquirer text NOT NULL
);
CREATE INDEX settlement_entry_of_day ON settlement_entry (settlement_date, organisation_id, merchant_id, audit);

CREATE FUNCTION settlement_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'settlement entries are only ever appended to' USING ERRCODE = 'insufficient_privilege';
END $$;
-- guard(settlement: entries are only ever appended to): CREATE TRIGGER settlement_append_only BEFORE UPDATE OR DELETE ON settlement_entry ⏎ FOR EACH ROW EXECUTE FUNCTION settlement_is_append_only(); ⇒
CREATE TRIGGER settlement_append_only BEFORE UPDATE OR DELETE ON settlement_entry
  FOR EACH ROW EXECUTE FUNCTION settlement_is_append_only();
CREATE TRIGGER settlement_not_emptied BEFORE TRUNCATE ON settlement_entry
  FOR EACH STATEMENT EXECUTE FUNCTION settlement_is_append_only();

-- The day on which what is decided now settles, of those that the process knows with their closes. Whoever asks holds the gate
-- open until its commit; a day is closed while nobody does. The function is volatile: it reads what was committed before it
-- passed the gate, and not only before the statement that calls it. So nothing is dated on a closed day, however slow a
-- commit is and whatever the clocks say.
-- Every payment comes by here: one row that is read, and a loop over a few days, which are in the order of the calendar, cost less
-- than a query over them.
-- guard(settlement: a day is not closed while a commit is under way): pg_advisory_xact_lock_shared(hashtext('tollgate settlement')) ⇒ ''
CREATE FUNCTION open_settlement_day(days date[], closes timestamptz[]) RETURNS date LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  gate CONSTANT text := pg_advisory_xact_lock_shared(hashtext('tollgate settlement'));
  closed date;
  at timestamptz;
BEGIN
  SELECT closed_day, now() + advanced_ms * interval '1 millisecond' INTO closed, at FROM gateway;
  FOR place IN 1 .. cardinality(days) LOOP
    IF days[place] > closed AND closes[place] > at THEN
      RETURN days[place];
    END IF;
  END LOOP;
  RETURN closed + 1;
END $$;

-- Closes a day, and all before it, if its time has come by the database's clock. It gives up after a moment: while it waits for a
-- commit that is held up, every other commit waits behind it. Returns whether the day is closed.
CREATE FUNCTION close_settlement_day(last date, closes timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET lock_timeout = '100ms' AS $$
BEGIN
  IF (SELECT closed_day >= last FROM gateway) THEN
    RETURN true;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('tollgate settlement'));
  UPDATE gateway SET closed_day = last
  WHERE closed_day < last AND now() + advanced_ms * interval '1 millisecond' >= closes;
  RETURN FOUND;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $$;

-- What holding an acquirer's file against a day has found, to be worked through: who has looked at it, when, and what came of it.
CREATE TABLE settlement_difference (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  settlement_date date NOT NULL,
  acquirer text NOT NULL,
  kind text NOT NULL CONSTRAINT difference_kind_known CHECK (kind IN ('missing_here', 'missing_there', 'different', 'wrong')),
  -- The acquirer's; of a line that cannot be read, the number of that line.
  reference text NOT NULL,
  -- What the file says, and what the gateway says, in words; empty where one says nothing.
  there text NOT NULL,
  here text NOT NULL,
  -- Where it is about a transaction of ours.
  organisation_id integer,
  merchant_id integer,
  audit integer,
  found_at timestamptz NOT NULL DEFAULT now(),
  -- As the journal names them.
  found_by text NOT NULL,
  -- A later file for the same day did not have it any more.
  gone_at timestamptz,
  looked_at timestamptz,
  looked_by text,
  note text,
  CONSTRAINT looked_at_by_somebody CHECK ((looked_at IS NULL) = (looked_by IS NULL) AND (looked_at IS NULL) = (note IS NULL)),
  -- guard(reconciliation: a difference that was looked at does not hide another one): UNIQUE (settlement_date, acquirer, kind, reference, there, here) ⇒ UNIQUE (settlement_date, acquirer, kind, reference, there)
  CONSTRAINT difference_once UNIQUE (settlement_date, acquirer, kind, reference, there, here)
);
CREATE INDEX settlement_difference_open ON settlement_difference (settlement_date, id) WHERE looked_at IS NULL AND gone_at IS NULL;
