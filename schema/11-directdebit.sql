-- Direct debit: how merchants lodge with their bank, the items that wait for it, and the files that they went in.

-- How a merchant lodges with its bank. A merchant without a row banks with the simulated bank.
CREATE TABLE direct_entry (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  -- The three letters of the bank.
  bank text NOT NULL CHECK (bank ~ '^[A-Z]{3}$'),
  user_name text NOT NULL CHECK (length(user_name) BETWEEN 1 AND 26),
  user_id text NOT NULL CHECK (user_id ~ '^[0-9]{6}$'),
  description text NOT NULL CHECK (length(description) BETWEEN 1 AND 12),
  trace_bsb text NOT NULL CHECK (trace_bsb ~ '^[0-9]{3}-[0-9]{3}$'),
  trace_account text NOT NULL CHECK (trace_account ~ '^[0-9]{2,9}$'),
  remitter text NOT NULL CHECK (length(remitter) BETWEEN 1 AND 16),
  -- Business days after the file's own day until an item counts as cleared.
  clearing_days integer NOT NULL CHECK (clearing_days BETWEEN 1 AND 30),
  -- Days after the file's own day during which a return is still taken.
  dispute_days integer NOT NULL CHECK (dispute_days BETWEEN 1 AND 3650),
  simulated boolean NOT NULL,
  PRIMARY KEY (organisation_id, merchant_id),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);

CREATE TABLE directdebit_file (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  made_at timestamptz NOT NULL,
  processing_day date NOT NULL,
  -- The direct-entry settings of that moment, so that the file can be written again byte for byte.
  settings json NOT NULL,
  items integer NOT NULL CHECK (items BETWEEN 1 AND 999999),
  debit_cents bigint NOT NULL CHECK (debit_cents BETWEEN 0 AND 9999999999),
  credit_cents bigint NOT NULL CHECK (credit_cents BETWEEN 0 AND 9999999999),
  -- Empty while it still has to reach the operator's disk.
  written_at timestamptz,
  -- Empty while the simulated bank still has to take it.
  taken_at timestamptz,
  simulated boolean NOT NULL,
  PRIMARY KEY (organisation_id, merchant_id, number),
  CONSTRAINT file_of_one_bank UNIQUE (organisation_id, merchant_id, number, simulated)
);
CREATE INDEX directdebit_file_to_write ON directdebit_file (organisation_id, merchant_id) WHERE written_at IS NULL;
CREATE INDEX directdebit_file_to_take ON directdebit_file (organisation_id, merchant_id) WHERE taken_at IS NULL;

-- A debit or credit on its way through the bank. Apart from the transaction, so that card payments pay nothing for
-- the indexes by which items are found.
CREATE TABLE directdebit_item (
  organisation_id integer NOT NULL,
  audit integer NOT NULL,
  merchant_id integer NOT NULL,
  -- The transaction with which the bank account is sealed: a refund's is its target.
  account_audit integer NOT NULL,
  file_number integer,
  line integer,
  return_code smallint CHECK (return_code BETWEEN 1 AND 9),
  -- What the simulated bank is going to return it with.
  simulated_return smallint CHECK (simulated_return BETWEEN 1 AND 9),
  state text NOT NULL DEFAULT 'waiting',
  -- When the next thing happens to it by itself.
  next_at timestamptz,
  simulated boolean NOT NULL,
  -- Since when an item is kept out of files for a bank, because its account does not open or its amount is not the one that was asked for.
  held_at timestamptz,
  PRIMARY KEY (organisation_id, audit),
  CONSTRAINT item_state_known CHECK (state IN ('waiting', 'filed', 'cleared', 'returned', 'voided')),
  -- guard(return: only of what a bank has): CHECK ((file_number IS NOT NULL) = (state IN ('filed', 'cleared', 'returned')) ⇒ CHECK (true
  CONSTRAINT item_in_a_file CHECK ((file_number IS NOT NULL) = (state IN ('filed', 'cleared', 'returned')) AND (line IS NOT
    NULL) = (file_number IS NOT NULL)),
  CONSTRAINT item_returned_with_a_code CHECK ((return_code IS NOT NULL) = (state = 'returned')),
  -- A file for a real bank cannot hold a simulated item, nor the other way round.
  -- guard(schema: a file for a real bank holds no simulated item): file_number, simulated) ⏎ REFERENCES directdebit_file (organisation_id, merchant_id, number, simulated) ⇒ file_number) REFERENCES directdebit_file (organisation_id, merchant_id, number)
  CONSTRAINT item_in_a_file_of_its_bank FOREIGN KEY (organisation_id, merchant_id, file_number, simulated)
    REFERENCES directdebit_file (organisation_id, merchant_id, number, simulated)
);
CREATE UNIQUE INDEX directdebit_item_of_file ON directdebit_item (organisation_id, merchant_id, file_number, line)
  WHERE file_number IS NOT NULL;
CREATE INDEX directdebit_item_due ON directdebit_item (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX directdebit_item_waiting ON directdebit_item (organisation_id, merchant_id, simulated, audit)
  WHERE state = 'waiting';

CREATE FUNCTION live_bank_is_real() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM merchant WHERE id = NEW.merchant_id AND mode = 'live') THEN
    RAISE EXCEPTION 'a live merchant cannot bank with the simulated bank'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'live_bank_is_real';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER live_bank_is_real BEFORE INSERT OR UPDATE ON direct_entry
  FOR EACH ROW WHEN (NEW.simulated) EXECUTE FUNCTION live_bank_is_real();
CREATE TRIGGER live_bank_is_real BEFORE INSERT ON directdebit_item
  FOR EACH ROW WHEN (NEW.simulated) EXECUTE FUNCTION live_bank_is_real();

CREATE FUNCTION bank_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an item or a file stays with its bank' USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_is_kept';
END $$;
CREATE TRIGGER bank_is_kept BEFORE UPDATE ON directdebit_item
  FOR EACH ROW WHEN (OLD.simulated <> NEW.simulated) EXECUTE FUNCTION bank_is_kept();
CREATE TRIGGER bank_is_kept BEFORE UPDATE ON directdebit_file
  FOR EACH ROW WHEN (OLD.simulated <> NEW.simulated) EXECUTE FUNCTION bank_is_kept();

-- A direct debit goes to the bank once, from the account that was given: an item goes forward, and keeps what it stands for.
CREATE FUNCTION directdebit_item_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an item for a bank keeps its account, and does not go back'
    USING ERRCODE = 'check_violation', TABLE = 'directdebit_item', CONSTRAINT = 'directdebit_item_is_kept';
END $$;
CREATE TRIGGER directdebit_item_is_kept BEFORE UPDATE ON directdebit_item FOR EACH ROW
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.audit <> OLD.audit OR NEW.merchant_id <> OLD.merchant_id
    -- guard(schema: an item for a bank keeps its account): OR NEW.account_audit <> OLD.account_audit ⇒
    -- guard(schema: an item for a bank does not go back): OR (OLD.state <> 'waiting' AND NEW.state = 'waiting') ⇒
    OR NEW.account_audit <> OLD.account_audit OR (OLD.state <> 'waiting' AND NEW.state = 'waiting')
    OR NEW.file_number <> OLD.file_number OR NEW.line <> OLD.line)
  EXECUTE FUNCTION directdebit_item_is_kept();
CREATE TRIGGER directdebit_item_is_not_removed BEFORE DELETE ON directdebit_item FOR EACH ROW
  EXECUTE FUNCTION directdebit_item_is_kept();

-- A file says to which account money goes. It stays as it was made, and is not made to look as if no bank had it yet.
CREATE FUNCTION directdebit_file_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a file for a bank stays as it was made'
    USING ERRCODE = 'check_violation', TABLE = 'directdebit_file', CONSTRAINT = 'directdebit_file_is_kept';
END $$;
CREATE TRIGGER directdebit_file_is_kept BEFORE UPDATE ON directdebit_file FOR EACH ROW
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.merchant_id <> OLD.merchant_id OR NEW.number <> OLD.number
    OR NEW.settings::text <> OLD.settings::text OR NEW.processing_day <> OLD.processing_day OR NEW.items <> OLD.items
    OR NEW.debit_cents <> OLD.debit_cents OR NEW.credit_cents <> OLD.credit_cents
    -- guard(schema: a file that a bank has does not look unwritten again): OR (OLD.written_at IS NOT NULL AND NEW.written_at IS NULL) ⇒
    OR (OLD.written_at IS NOT NULL AND NEW.written_at IS NULL) OR (OLD.taken_at IS NOT NULL AND NEW.taken_at IS NULL))
  EXECUTE FUNCTION directdebit_file_is_kept();
CREATE TRIGGER directdebit_file_is_not_removed BEFORE DELETE ON directdebit_file FOR EACH ROW
  EXECUTE FUNCTION directdebit_file_is_kept();
