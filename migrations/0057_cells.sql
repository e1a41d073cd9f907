-- Cells: what an installation is called among others and which IDs it gives out, the host names of organisations, and where an
-- organisation is while it moves.

ALTER TABLE gateway
  ADD cell text NOT NULL DEFAULT 'one' CONSTRAINT cell_named CHECK (cell ~ '^[a-z][a-z0-9-]{0,30}$'),
  ADD cell_number integer NOT NULL DEFAULT 1 CONSTRAINT cell_numbered CHECK (cell_number BETWEEN 1 AND 2000);

ALTER TABLE process ADD release text;

ALTER TABLE organisation
  ADD host_name text CONSTRAINT host_name_once UNIQUE CONSTRAINT host_name_of_dns CHECK (length(host_name) <= 253
    AND host_name ~ '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$'),
  ADD residence text NOT NULL DEFAULT 'here' CONSTRAINT residence_known CHECK (residence IN ('here', 'arriving', 'closing', 'closed', 'moved')),
  ADD moved_to text CONSTRAINT moved_to_cell CHECK (moved_to ~ '^[a-z][a-z0-9-]{0,30}$'),
  ADD moved_to_address text CONSTRAINT moved_to_https CHECK (length(moved_to_address) <= 300
    AND moved_to_address ~ '^https://[a-z0-9.-]+(:[0-9]{1,5})?$'),
  ADD CONSTRAINT moved_somewhere CHECK (
    (moved_to IS NULL) = (moved_to_address IS NULL) AND (moved_to IS NULL OR residence IN ('closed', 'moved'))
    AND (residence <> 'moved' OR moved_to IS NOT NULL));

-- A cell gives out the IDs of its own million only: no two cells give out the same. It is numbered before it has an organisation.
CREATE FUNCTION cell_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Whoever adds an organisation waits, and takes its ID afterwards.
  LOCK TABLE organisation IN SHARE ROW EXCLUSIVE MODE;
  IF NEW.cell_number <> OLD.cell_number AND EXISTS (SELECT FROM organisation) THEN
    RAISE EXCEPTION 'a cell that has an organisation keeps its number'
      USING ERRCODE = 'check_violation', TABLE = 'gateway', CONSTRAINT = 'cell_number_is_kept';
  END IF;
  IF NEW.cell <> OLD.cell AND EXISTS (SELECT FROM organisation WHERE residence IN ('arriving', 'closing', 'closed')) THEN
    RAISE EXCEPTION 'a cell keeps its name while an organisation moves'
      USING ERRCODE = 'check_violation', TABLE = 'gateway', CONSTRAINT = 'cell_name_is_kept';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER cell_is_kept BEFORE UPDATE OF cell, cell_number ON gateway FOR EACH ROW EXECUTE FUNCTION cell_is_kept();

-- Up to then, one installation alone counts without an end. It fails where more was given out than its million.
CREATE FUNCTION number_cell() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  lowest bigint := (NEW.cell_number - 1) * 1000000 + 1;
  highest bigint := NEW.cell_number * 1000000;
  sequence text;
  rows_numbered text;
  newest bigint;
BEGIN
  FOR sequence, rows_numbered IN VALUES
    ('organisation_id_seq', 'organisation'), ('merchant_id_seq', 'merchant'), ('gateway_user_id_seq', 'gateway_user'),
    ('operator_id_seq', 'operator'), ('webhook_endpoint_id', 'webhook_endpoint'),
    ('operator_request_id_seq', '(SELECT id FROM operator_request UNION ALL SELECT id FROM task_request) r')
  LOOP
    EXECUTE format('ALTER SEQUENCE %I MINVALUE %s MAXVALUE %s START %s', sequence, lowest, highest, lowest)
      || CASE WHEN NEW.cell_number <> OLD.cell_number THEN ' RESTART' ELSE '' END;
    EXECUTE format('SELECT max(id) FROM %s WHERE id BETWEEN %s AND %s', rows_numbered, lowest, highest) INTO newest;
    IF NEW.cell_number <> OLD.cell_number AND newest IS NOT NULL THEN
      PERFORM setval(sequence::regclass, newest);
    END IF;
  END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER number_cell AFTER UPDATE OF cell_number ON gateway FOR EACH ROW EXECUTE FUNCTION number_cell();

DO $$
BEGIN
  REVOKE INSERT, UPDATE, DELETE ON organisation FROM tollgate_application;
  GRANT UPDATE (next_audit, next_customer_id, next_token_id, lost_first_audit, lost_last_audit) ON organisation TO tollgate_application;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the rights of the role tollgate_application on organisations could not be changed';
END $$;
