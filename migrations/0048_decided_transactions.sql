-- A decided transaction stays decided: its outcome is sealed, no login takes it back, and what it is about never changes.

ALTER TABLE transaction ADD COLUMN outcome_seal bytea;

CREATE INDEX journal_of_sealing ON journal (id) WHERE action = 'transactions.sealed';
CREATE INDEX journal_of_broken_seals ON journal (at) WHERE action = 'seal.broken';

-- Citus lets only such triggers onto a table that is distributed as say so. This one looks at nothing but its row.
SET LOCAL citus.enable_unsafe_triggers = on;
-- What is decided stays decided, whoever writes: in doubt is what the resolver has reversed, and what a card is opened for again.
CREATE FUNCTION transaction_stays_decided() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'unknown' OR OLD.status IN ('declined', 'error', 'voided')
    OR (OLD.status = 'approved' AND NEW.status NOT IN ('declined', 'voided')) THEN
    RAISE EXCEPTION 'a transaction that is decided stays decided' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER transaction_stays_decided BEFORE UPDATE OF status ON transaction FOR EACH ROW
  WHEN (OLD.status <> 'unknown' AND NEW.status <> OLD.status) EXECUTE FUNCTION transaction_stays_decided();

DO $$
BEGIN
  REVOKE UPDATE, DELETE ON transaction FROM tollgate_application, tollgate_operator;
  GRANT UPDATE (refunded_cents, completed_cents, completed_by, voided_by, gateway_status_code, reversing, resolve_attempts,
    resolve_at, voidable_until, settlement_date, status, acquirer, response_code, response_message, authorisation_code,
    preauthorisation_code, payment_details_key_version, payment_details_sealed, decided_at, prepared, version, outcome_seal)
    ON transaction TO tollgate_application;
  GRANT UPDATE (refunded_cents, resolve_at, voidable_until, settlement_date, status, kvps, response_code, response_message,
    authorisation_code, preauthorisation_code, payment_details_key_version, payment_details_sealed, decided_at, prepared, version,
    attestation, archived_at, outcome_seal)
    ON transaction TO tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the rights of the roles tollgate_operator and tollgate_application on transactions could not be changed';
END $$;
