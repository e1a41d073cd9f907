-- Counters of STANs are not set back, and not removed.
CREATE FUNCTION stan_counter_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a counter of STANs is not set back' USING ERRCODE = 'check_violation', CONSTRAINT = 'stan_counter_is_kept';
END $$;
CREATE TRIGGER stan_counter_is_kept BEFORE UPDATE ON stan_counter
  FOR EACH ROW WHEN (NEW.leased < OLD.leased) EXECUTE FUNCTION stan_counter_is_kept();

DO $$
BEGIN
  REVOKE DELETE ON stan_counter FROM tollgate_application, tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the roles tollgate_operator and tollgate_application are not there: one login may do everything';
END $$;
