-- What is decided stays decided by a trigger that comes after the change, and still in the same statement: before it, PostgreSQL locks each
-- row first, also where the condition does not hold, and every commit B would pay for another log record.
CREATE OR REPLACE FUNCTION transaction_stays_decided() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'unknown' OR OLD.status IN ('declined', 'error', 'voided')
    OR (OLD.status = 'approved' AND NEW.status NOT IN ('declined', 'voided')) THEN
    RAISE EXCEPTION 'a transaction that is decided stays decided' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER transaction_stays_decided AFTER UPDATE OF status ON transaction FOR EACH ROW
  WHEN (OLD.status <> 'unknown' AND NEW.status <> OLD.status) EXECUTE FUNCTION transaction_stays_decided();
