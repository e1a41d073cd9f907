-- Nobody who works with the database takes away the state of the journal's chain, which would stop the chain, or inserts an entry below
-- the first one, which nobody would look at.

ALTER TABLE journal ADD CONSTRAINT id_was_handed_out CHECK (id > 0);

DO $$
BEGIN
  REVOKE UPDATE, DELETE ON journal_block FROM tollgate_operator;
  REVOKE INSERT, DELETE ON journal_chain FROM tollgate_application, tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the roles tollgate_operator and tollgate_application are not there: one login may do everything';
END $$;
