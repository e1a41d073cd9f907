-- Certificates of which a user must show one when it calls, by their SHA-256 fingerprints: a second factor beside the secret.
-- Several, so that one can take another's place while both are in use. None: the secret alone is enough.
ALTER TABLE gateway_user ADD COLUMN client_certificates bytea[] NOT NULL DEFAULT '{}'
  CONSTRAINT few_client_certificates
  CHECK (cardinality(client_certificates) <= 5 AND array_position(client_certificates, NULL) IS NULL);
