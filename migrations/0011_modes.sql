-- Test and live: what is simulated never touches real money, and nothing real happens at a time that is not.

ALTER TABLE merchant
  ADD mode text NOT NULL DEFAULT 'test' CHECK (mode IN ('test', 'live')),
  -- Empty: no link for cards.
  ALTER acquirer DROP NOT NULL;

-- Merchants that are there already are test, except those that lodge with a real bank: theirs are real debits, and the
-- simulator must not approve their cards. While the clock is ahead, nobody can be live.
UPDATE merchant m SET mode = 'live', acquirer = nullif(m.acquirer, 'simulator')
FROM direct_entry e
WHERE e.organisation_id = m.organisation_id AND e.merchant_id = m.id AND NOT e.simulated
  AND (SELECT advanced_ms = 0 FROM gateway);

ALTER TABLE merchant
  ADD CONSTRAINT live_is_never_simulated CHECK (mode = 'test' OR acquirer IS DISTINCT FROM 'simulator');
CREATE INDEX merchant_live ON merchant (id) WHERE mode = 'live';

CREATE FUNCTION mode_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a merchant is test or live for good'
    USING ERRCODE = 'check_violation', CONSTRAINT = 'mode_is_kept';
END $$;
CREATE TRIGGER mode_is_kept BEFORE UPDATE ON merchant
  FOR EACH ROW WHEN (OLD.mode <> NEW.mode) EXECUTE FUNCTION mode_is_kept();

-- The row of the gateway decides between a live merchant and a clock that is moved: whoever gets to it first.
CREATE FUNCTION live_needs_real_time() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ahead_ms bigint;
BEGIN
  SELECT advanced_ms INTO ahead_ms FROM gateway FOR SHARE;
  IF ahead_ms > 0 THEN
    RAISE EXCEPTION 'no live merchant can be added while the clock is ahead'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'live_needs_real_time';
  END IF;
  -- A process that was silent for 15 seconds claims nothing before it has the new time.
  IF EXISTS (SELECT FROM process WHERE advanced_ms > 0 AND seen_at > now() - interval '20 seconds') THEN
    RAISE EXCEPTION 'a process of the gateway still has a clock that is ahead'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'live_needs_processes_in_time';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER live_needs_real_time BEFORE INSERT ON merchant
  FOR EACH ROW WHEN (NEW.mode = 'live') EXECUTE FUNCTION live_needs_real_time();

CREATE FUNCTION live_keeps_real_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM merchant WHERE mode = 'live') THEN
    RAISE EXCEPTION 'the clock cannot be moved while a live merchant exists'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'live_keeps_real_time';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER live_keeps_real_time BEFORE UPDATE OF advanced_ms ON gateway
  FOR EACH ROW WHEN (NEW.advanced_ms > 0) EXECUTE FUNCTION live_keeps_real_time();

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

-- An item stays with the bank that took it in. The acquirer of its transaction says which one that was: `directdebit` is
-- the merchant's own bank, `simulated-bank` the simulated one. Of what is there already, all was simulated that came before
-- the merchant got a bank of its own.
UPDATE transaction t SET acquirer = 'simulated-bank'
WHERE t.acquirer = 'directdebit' AND NOT EXISTS (
  SELECT FROM direct_entry e
  WHERE e.organisation_id = t.organisation_id AND e.merchant_id = t.merchant_id AND NOT e.simulated
    AND t.created_at >= coalesce((
      SELECT min(j.at) FROM journal j
      WHERE j.action = 'directdebit.set' AND j.organisation_id = t.organisation_id AND j.merchant_id = t.merchant_id
        AND j.detail NOT LIKE '%simulated'), '-infinity'));

ALTER TABLE directdebit_file ADD simulated boolean;
ALTER TABLE directdebit_item ADD simulated boolean;
UPDATE directdebit_item i SET simulated = t.acquirer <> 'directdebit',
  next_at = CASE WHEN i.state = 'waiting' THEN CASE WHEN t.acquirer <> 'directdebit' THEN t.voidable_until END
    ELSE i.next_at END
FROM transaction t WHERE t.organisation_id = i.organisation_id AND t.audit = i.audit;
UPDATE directdebit_file f SET simulated = NOT EXISTS (
  SELECT FROM directdebit_item i WHERE i.organisation_id = f.organisation_id AND i.merchant_id = f.merchant_id
    AND i.file_number = f.number AND NOT i.simulated);
-- Files of earlier days are what they are.
UPDATE directdebit_item i SET simulated = false
FROM directdebit_file f
WHERE f.organisation_id = i.organisation_id AND f.merchant_id = i.merchant_id AND f.number = i.file_number
  AND NOT f.simulated AND i.simulated;
ALTER TABLE directdebit_file ALTER simulated SET NOT NULL,
  ADD CONSTRAINT file_of_one_bank UNIQUE (organisation_id, merchant_id, number, simulated);
ALTER TABLE directdebit_item ALTER simulated SET NOT NULL,
  DROP CONSTRAINT directdebit_item_organisation_id_merchant_id_file_number_fkey,
  -- A file for a real bank cannot hold a simulated item, nor the other way round.
  ADD CONSTRAINT item_in_a_file_of_its_bank FOREIGN KEY (organisation_id, merchant_id, file_number, simulated)
    REFERENCES directdebit_file (organisation_id, merchant_id, number, simulated);
DROP INDEX directdebit_item_waiting;
CREATE INDEX directdebit_item_waiting ON directdebit_item (organisation_id, merchant_id, simulated, audit)
  WHERE state = 'waiting';

CREATE FUNCTION bank_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an item or a file stays with its bank' USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_is_kept';
END $$;
CREATE TRIGGER bank_is_kept BEFORE UPDATE ON directdebit_item
  FOR EACH ROW WHEN (OLD.simulated <> NEW.simulated) EXECUTE FUNCTION bank_is_kept();
CREATE TRIGGER bank_is_kept BEFORE UPDATE ON directdebit_file
  FOR EACH ROW WHEN (OLD.simulated <> NEW.simulated) EXECUTE FUNCTION bank_is_kept();
CREATE TRIGGER live_bank_is_real BEFORE INSERT ON directdebit_item
  FOR EACH ROW WHEN (NEW.simulated) EXECUTE FUNCTION live_bank_is_real();
