-- Operators wrap the keys of the installation anew, and take none away: with another key of the journal, nothing would seem to be sealed.
DO $$
BEGIN
  REVOKE INSERT, UPDATE, DELETE ON installation_key FROM tollgate_operator;
  GRANT UPDATE (key_encryption_key, wrapped) ON installation_key TO tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the roles tollgate_operator and tollgate_application are not there: one login may do everything';
END $$;
