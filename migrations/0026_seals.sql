-- Seals that are bound to everything that decides whom a sealed account is charged for, and what tells when somebody has set one back.

-- What the seals of a data key are bound to. 1: the place of the row alone, as earlier releases seal. 2: also what the row says of it. The
-- key is wrapped for its form: whoever changes this column has a key that does not open.
ALTER TABLE data_key
  ADD form smallint NOT NULL DEFAULT 1 CHECK (form IN (1, 2)),
  -- When everything was sealed anew under a newer version.
  ADD emptied_at timestamptz;

-- Which form a process knows. Keys of the second form are made when no process is left that does not know it.
ALTER TABLE process ADD seal_form smallint NOT NULL DEFAULT 1;

-- Counts the accounts that a token has had: each is sealed under a number of its own.
ALTER TABLE token ADD seal_version integer NOT NULL DEFAULT 0;

-- Makes a key of the installation that is not there. With the rights of its owner: those who serve write nothing else there, and a key
-- that the key-encryption key has not wrapped does not open.
CREATE FUNCTION add_installation_key(name text, key_encryption_key text, wrapped bytea) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO installation_key (name, key_encryption_key, wrapped) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING true
$$;

-- What was asked of an earlier transaction (which one, how much), authenticated under the installation's key. What is asked of a payment
-- method of its own is part of that method's seal.
ALTER TABLE transaction ADD attestation bytea;

-- Since when an item is kept out of files for a bank, because its account does not open or its amount is not the one that was asked for.
ALTER TABLE directdebit_item ADD held_at timestamptz;

-- A token keeps what it was made with, its seals only get newer, and one that was deleted stays deleted.
CREATE FUNCTION token_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a token keeps its virtual PAN and its customer, its seal is not set back, and a deleted one stays deleted'
    USING ERRCODE = 'check_violation', TABLE = 'token', CONSTRAINT = 'token_is_kept';
END $$;
CREATE TRIGGER token_is_kept BEFORE UPDATE ON token FOR EACH ROW
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.id <> OLD.id OR NEW.merchant_id <> OLD.merchant_id
    OR NEW.customer_id <> OLD.customer_id OR NEW.virtual_pan <> OLD.virtual_pan
    OR NEW.seal_version < OLD.seal_version OR NEW.version < OLD.version
    OR (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL))
  EXECUTE FUNCTION token_is_kept();
CREATE TRIGGER token_is_not_removed BEFORE DELETE ON token FOR EACH ROW EXECUTE FUNCTION token_is_kept();
CREATE TRIGGER tokens_are_not_removed BEFORE TRUNCATE ON token FOR EACH STATEMENT EXECUTE FUNCTION token_is_kept();

-- A version that was destroyed does not come back, and what a key is for does not change.
CREATE FUNCTION data_key_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NOT EXISTS (SELECT FROM data_key WHERE organisation_id = NEW.organisation_id
    AND merchant_id = NEW.merchant_id AND version > NEW.version) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'a data key that was destroyed does not come back, and a key stays what it was made for'
    USING ERRCODE = 'check_violation', TABLE = 'data_key', CONSTRAINT = 'data_key_is_kept';
END $$;
CREATE TRIGGER data_key_is_new BEFORE INSERT ON data_key FOR EACH ROW EXECUTE FUNCTION data_key_is_kept();
CREATE TRIGGER data_key_is_kept BEFORE UPDATE ON data_key FOR EACH ROW
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.merchant_id <> OLD.merchant_id OR NEW.version <> OLD.version
    OR NEW.form <> OLD.form)
  EXECUTE FUNCTION data_key_is_kept();

-- By these a payment with a token, and whoever opens a data key, ask the journal whether the token or the key is gone, or its seal was
-- replaced. On a large journal make both beforehand, with CONCURRENTLY.
CREATE INDEX IF NOT EXISTS journal_of_token_changes ON journal (organisation_id, token_id, id)
  WHERE token_id IS NOT NULL AND action <> 'token.opened';
CREATE INDEX IF NOT EXISTS journal_of_destroyed_keys ON journal (organisation_id, merchant_id) WHERE action = 'keys.destroyed';

DO $$
BEGIN
  REVOKE DELETE ON token FROM tollgate_application;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  RAISE WARNING 'the role tollgate_application is not there: tokens are guarded by triggers alone';
END $$;

-- A direct debit goes to the bank once, from the account that was given: an item goes forward, and keeps what it stands for.
CREATE FUNCTION directdebit_item_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an item for a bank keeps its account, and does not go back'
    USING ERRCODE = 'check_violation', TABLE = 'directdebit_item', CONSTRAINT = 'directdebit_item_is_kept';
END $$;
CREATE TRIGGER directdebit_item_is_kept BEFORE UPDATE ON directdebit_item FOR EACH ROW
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.audit <> OLD.audit OR NEW.merchant_id <> OLD.merchant_id
    OR NEW.account_audit <> OLD.account_audit OR (OLD.state <> 'waiting' AND NEW.state = 'waiting')
    OR NEW.file_number <> OLD.file_number OR NEW.line <> OLD.line)
  EXECUTE FUNCTION directdebit_item_is_kept();
CREATE TRIGGER directdebit_item_is_not_removed BEFORE DELETE ON directdebit_item FOR EACH ROW
  EXECUTE FUNCTION directdebit_item_is_kept();
