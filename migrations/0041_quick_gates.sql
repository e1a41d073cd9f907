-- Every payment comes by these three functions, twice by the last one. They decide as before, in less time.

-- A lock that is taken in an expression is no query of its own, as it is with PERFORM.
CREATE OR REPLACE FUNCTION no_absence_after(known bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  gate CONSTANT text := pg_advisory_xact_lock_shared(hashtext('tollgate absences'));
  newest bigint;
BEGIN
  SELECT newest_absence INTO newest FROM gateway;
  RETURN newest <= known;
END $$;

CREATE OR REPLACE FUNCTION open_settlement_day(days date[], closes timestamptz[]) RETURNS date LANGUAGE plpgsql VOLATILE AS $$
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

-- Most rows are of purchases to which nothing was done since. PostgreSQL makes an expression ready once in each transaction that comes
-- to it: with this short one first, the long one is hardly ever needed.
CREATE OR REPLACE FUNCTION transaction_is_sound(audit integer, amount_cents bigint, transaction_type text, status text,
  gateway_status_code smallint, refunded_cents bigint, completed_cents bigint, target_audit integer, completed_by integer,
  voided_by integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text;
BEGIN
  IF (transaction_type = 'purchase' AND CASE gateway_status_code WHEN 0 THEN status = 'approved' WHEN -99 THEN status = 'unknown' END
    AND audit > 0 AND amount_cents > 0 AND refunded_cents = 0 AND completed_cents = 0
    AND target_audit IS NULL AND completed_by IS NULL) THEN
    RETURN true;
  END IF;
  broken := CASE
    WHEN NOT audit > 0 THEN 'audit_is_positive'
    WHEN NOT amount_cents > 0 THEN 'amount_is_positive'
    WHEN NOT transaction_type IN ('purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void')
      THEN 'transaction_type_known'
    WHEN NOT status IN ('unknown', 'approved', 'declined', 'pending', 'error', 'voided') THEN 'status_known'
    WHEN NOT (status = 'unknown') = (gateway_status_code = -99) THEN 'undecided_is_99'
    WHEN NOT (refunded_cents BETWEEN 0 AND amount_cents
      AND (refunded_cents = 0 OR transaction_type IN ('purchase', 'completion'))) THEN 'refunds_fit'
    WHEN NOT (completed_cents BETWEEN 0 AND amount_cents AND (completed_by IS NOT NULL) = (completed_cents > 0)
      AND (completed_by IS NULL OR transaction_type = 'preauthorisation')) THEN 'completion_fits'
    WHEN NOT (voided_by IS NULL OR (refunded_cents = 0 AND completed_by IS NULL AND transaction_type <> 'void'))
      THEN 'void_excludes_the_rest'
    WHEN NOT (status <> 'voided' OR voided_by IS NOT NULL) THEN 'voided_by_a_void'
    WHEN NOT (target_audit IS NOT NULL) = (transaction_type IN ('completion', 'refund', 'void')) THEN 'target_where_due'
  END;
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE EXCEPTION 'a transaction would break the rule "%"', broken
    USING ERRCODE = 'check_violation', TABLE = 'transaction', CONSTRAINT = broken;
END $$;
