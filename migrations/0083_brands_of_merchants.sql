-- How merchants look on payers' pages.

CREATE TABLE merchant_brand (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  display_name text CHECK (length(display_name) BETWEEN 1 AND 60),
  colour text CHECK (colour ~ '^#[0-9a-f]{6}$'),
  logo bytea CONSTRAINT logo_is_small CHECK (octet_length(logo) BETWEEN 1 AND 65536),
  PRIMARY KEY (organisation_id, merchant_id),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);

DO $$
BEGIN
  REVOKE INSERT, UPDATE, DELETE ON merchant_brand FROM tollgate_application;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the rights of the role tollgate_application on the brands of merchants could not be set';
END $$;
