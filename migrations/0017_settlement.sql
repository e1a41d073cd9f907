-- Settlement: which day every cent belongs to. An entry is written by the statement that sets the status, in the same commit,
-- and never changed. So a day that is closed stays as it is: what comes later is an entry of the day that is open by then.

ALTER TABLE gateway
  -- The last settlement day that is closed. Nothing is dated on it, or before it, any more.
  ADD closed_day date NOT NULL DEFAULT '-infinity';

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
  transaction_type text NOT NULL CHECK (transaction_type IN
    ('purchase', 'completion', 'refund', 'standalone_refund', 'void', 'return')),
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
CREATE TRIGGER settlement_append_only BEFORE UPDATE OR DELETE ON settlement_entry
  FOR EACH ROW EXECUTE FUNCTION settlement_is_append_only();
CREATE TRIGGER settlement_not_emptied BEFORE TRUNCATE ON settlement_entry
  FOR EACH STATEMENT EXECUTE FUNCTION settlement_is_append_only();
DO $$
BEGIN
  REVOKE UPDATE, DELETE ON settlement_entry FROM tollgate_application;
EXCEPTION WHEN undefined_object THEN
  NULL;
END $$;

-- The day on which what is decided now settles, of those that the process knows with their closes. Whoever asks holds the gate
-- open until its commit; a day is closed while nobody does. The function is volatile: it reads what was committed before it
-- passed the gate, and not only before the statement that calls it. So nothing is dated on a closed day, however slow a
-- commit is and whatever the clocks say.
CREATE FUNCTION open_settlement_day(days date[], closes timestamptz[]) RETURNS date LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('tollgate settlement'));
  RETURN (
    SELECT coalesce(min(calendar.day), max(closed_day) + 1)
    FROM gateway LEFT JOIN unnest(days, closes) AS calendar(day, closes_at)
      ON calendar.day > closed_day AND calendar.closes_at > now() + advanced_ms * interval '1 millisecond');
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

-- What has settled already.
INSERT INTO settlement_entry (organisation_id, merchant_id, audit, target_audit, amount_cents, settlement_date, transaction_type,
  payment_method, card_type, currency, acquirer)
SELECT organisation_id, merchant_id, audit, target_audit,
  CASE WHEN transaction_type IN ('refund', 'standalone_refund') THEN -amount_cents ELSE amount_cents END,
  -- Direct debits settle when they are cleared.
  CASE WHEN bank_account IS NULL THEN settlement_date ELSE (decided_at AT TIME ZONE 'Australia/Sydney')::date END,
  transaction_type, CASE WHEN bank_account IS NULL THEN 'creditcard' ELSE 'bankaccount' END, coalesce(card_type, ''),
  currency, acquirer
FROM transaction
WHERE transaction_type IN ('purchase', 'completion', 'refund', 'standalone_refund') AND settlement_date IS NOT NULL
  AND (status = 'approved' OR (status = 'voided' AND bank_account IS NULL));

INSERT INTO settlement_entry (organisation_id, merchant_id, audit, target_audit, amount_cents, settlement_date, transaction_type,
  payment_method, card_type, currency, acquirer)
SELECT v.organisation_id, v.merchant_id, v.audit, v.target_audit,
  CASE WHEN t.transaction_type IN ('refund', 'standalone_refund') THEN t.amount_cents ELSE -t.amount_cents END,
  v.settlement_date, 'void', 'creditcard', coalesce(v.card_type, ''), v.currency, v.acquirer
FROM transaction v JOIN transaction t ON t.organisation_id = v.organisation_id AND t.audit = v.target_audit
WHERE v.transaction_type = 'void' AND v.status = 'approved' AND v.settlement_date IS NOT NULL
  AND t.transaction_type <> 'preauthorisation' AND t.bank_account IS NULL AND t.settlement_date IS NOT NULL;
