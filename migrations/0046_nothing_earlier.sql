-- What was kept for releases before the first one ends: secrets by their digest, seals that are bound to less, entries without a mark,
-- and processes that go by any of these.

DO $$
DECLARE
  merchants text;
BEGIN
  SELECT string_agg(DISTINCT merchant_id::text, ', ') INTO merchants FROM data_key WHERE form = 1;
  IF merchants IS NOT NULL THEN
    RAISE EXCEPTION 'seals of merchants % are those of a time before the first release. Start the release that ran before, which renews them within an hour, and migrate again', merchants;
  END IF;
  IF (SELECT earlier_up_to > 0 FROM journal_chain) OR EXISTS (SELECT FROM journal_block WHERE earlier <> '{}') THEN
    RAISE EXCEPTION 'the journal has entries of a time before the first release, which made no marks: such a database is not taken over';
  END IF;
END $$;

ALTER TABLE gateway_user DROP COLUMN secret_digest;
DROP FUNCTION forget_secret_digests();

ALTER TABLE process DROP COLUMN knows_seals, DROP COLUMN seal_form;

DROP TRIGGER data_key_is_kept ON data_key;
ALTER TABLE data_key DROP COLUMN form;
CREATE TRIGGER data_key_is_kept BEFORE UPDATE ON data_key FOR EACH ROW
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.merchant_id <> OLD.merchant_id OR NEW.version <> OLD.version)
  EXECUTE FUNCTION data_key_is_kept();

ALTER TABLE journal_block DROP COLUMN earlier;
ALTER TABLE journal_chain DROP COLUMN earlier_up_to;

-- It was added without a look at what was there.
ALTER TABLE transaction VALIDATE CONSTRAINT sound;
