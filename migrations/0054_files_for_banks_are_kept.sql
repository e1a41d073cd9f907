-- A file for a bank says to which account money goes. It stays as it was made, and is not made to look as if no bank had it yet.
CREATE FUNCTION directdebit_file_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a file for a bank stays as it was made'
    USING ERRCODE = 'check_violation', TABLE = 'directdebit_file', CONSTRAINT = 'directdebit_file_is_kept';
END $$;
CREATE TRIGGER directdebit_file_is_kept BEFORE UPDATE ON directdebit_file FOR EACH ROW
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.merchant_id <> OLD.merchant_id OR NEW.number <> OLD.number
    OR NEW.settings::text <> OLD.settings::text OR NEW.processing_day <> OLD.processing_day OR NEW.items <> OLD.items
    OR NEW.debit_cents <> OLD.debit_cents OR NEW.credit_cents <> OLD.credit_cents
    OR (OLD.written_at IS NOT NULL AND NEW.written_at IS NULL) OR (OLD.taken_at IS NOT NULL AND NEW.taken_at IS NULL))
  EXECUTE FUNCTION directdebit_file_is_kept();
CREATE TRIGGER directdebit_file_is_not_removed BEFORE DELETE ON directdebit_file FOR EACH ROW
  EXECUTE FUNCTION directdebit_file_is_kept();
