-- The row of the gateway stays as it is called at acquirers, its counters are not set back, and each login sets what it needs of it.

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

DO $$
BEGIN
  REVOKE INSERT, UPDATE, DELETE ON gateway FROM tollgate_application, tollgate_operator;
  GRANT UPDATE (lineage, newest_absence, forgotten_absence, sweep_at, closed_day, lost_from, lost_until, lost_noted_by, key_proof,
    key_proof_key) ON gateway TO tollgate_application, tollgate_operator;
  GRANT UPDATE (advanced_ms) ON gateway TO tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the rights of the roles tollgate_operator and tollgate_application on the gateway could not be changed';
END $$;
