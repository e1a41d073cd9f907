-- Events: a thin row for each change of a status, written by the statement that makes the change. Whoever reads it adds
-- what the subject looks like.

ALTER TABLE transaction
  -- How often it has changed its status: the version of the newest event about it.
  ADD version integer NOT NULL DEFAULT 0;

CREATE SEQUENCE event_id CACHE 64;

-- The slots are a ring: each day of real time has one, which it shares with the days 64 before and after it. Nothing has to be
-- made ahead, so that no payment can fail for want of a partition; and a slot is emptied at one go, long before it is
-- needed again.
CREATE TABLE event (
  -- Readers go by commit order: by the transaction ID, where every lower one has ended, and then by id.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id bigint NOT NULL DEFAULT nextval('event_id'),
  -- By the gateway's clock.
  created_at timestamptz NOT NULL,
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  -- The audit, for a transaction.
  subject integer NOT NULL,
  -- Counts the events of a subject from 1.
  version integer NOT NULL,
  slot smallint NOT NULL DEFAULT floor(extract(epoch FROM now()) / 86400)::bigint % 64,
  -- Of a bounded length, so that no partition needs a table for long values.
  type varchar(40) NOT NULL
) PARTITION BY LIST (slot);
CREATE INDEX event_in_commit_order ON event (organisation_id, merchant_id, xid, id);

DO $$
BEGIN
  FOR slot IN 0..63 LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF event FOR VALUES IN (%s)', 'event_' || slot, slot);
  END LOOP;
END $$;

-- Empties the slots of all days but today, tomorrow and the days that are kept. It works with the rights of its owner: the
-- gateway's own role may not empty tables. A slot that somebody reads just then is left to the next time.
CREATE FUNCTION forget_events(kept_days integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  today bigint := floor(extract(epoch FROM now()) / 86400)::bigint;
  filled boolean;
  emptied integer := 0;
BEGIN
  FOR slot IN 0..63 LOOP
    -- How many days ago the slot was last used, or will have been when tomorrow has come.
    IF (today + 1 - slot + 64) % 64 > kept_days + 1 THEN
      BEGIN
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', 'event_' || slot) INTO filled;
        IF filled THEN
          EXECUTE format('TRUNCATE %I', 'event_' || slot);
          emptied := emptied + 1;
        END IF;
      EXCEPTION WHEN lock_not_available THEN
        NULL;
      END;
    END IF;
  END LOOP;
  RETURN emptied;
END $$;

-- The payment details are those of a card or of a bank account: the columns are called what they are. What the ciphertexts are
-- bound to stays as it was.
ALTER TABLE transaction RENAME card_sealed TO payment_details_sealed;
ALTER TABLE transaction RENAME card_key_version TO payment_details_key_version;
