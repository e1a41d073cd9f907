-- The vault: customers, tokens, the keys that seal card data, and the journal of who did what.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Proof that the key-encryption key is still the one that everything is sealed under.
ALTER TABLE gateway ADD key_proof bytea, ADD key_proof_key text;

ALTER TABLE organisation
  ADD next_customer_id bigint NOT NULL DEFAULT 1 CHECK (next_customer_id BETWEEN 1 AND 2147483648),
  ADD next_token_id bigint NOT NULL DEFAULT 1 CHECK (next_token_id BETWEEN 1 AND 2147483648);

-- The newest version seals, every version opens. A version that nothing uses any more can be destroyed: its row goes.
CREATE TABLE data_key (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  key_encryption_key text NOT NULL,
  wrapped bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, merchant_id, version),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);

CREATE TABLE customer (
  organisation_id integer NOT NULL,
  id integer NOT NULL CHECK (id > 0),
  merchant_id integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  reference text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- What searches look at and lists are ordered by. Columns of their own, so that the indexes alone can find a page.
  name_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
  reference_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(reference)) STORED,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT customer_reference_once UNIQUE (organisation_id, merchant_id, reference)
);
CREATE INDEX customer_by_name ON customer (organisation_id, merchant_id, name_key, id);
CREATE INDEX customer_by_reference ON customer (organisation_id, merchant_id, reference_key, id);
CREATE INDEX customer_by_id ON customer (organisation_id, merchant_id, id);
-- A short list of pending entries (in kB), since every search has to read through it.
CREATE INDEX customer_like_name ON customer USING gin (name_key gin_trgm_ops) WITH (gin_pending_list_limit = 256);
CREATE INDEX customer_like_reference ON customer USING gin (reference_key gin_trgm_ops) WITH (gin_pending_list_limit = 256);

-- A deleted token stays as an empty shell, so that its virtual PAN is never handed out again.
CREATE TABLE token (
  organisation_id integer NOT NULL,
  id integer NOT NULL CHECK (id > 0),
  merchant_id integer NOT NULL,
  customer_id integer NOT NULL,
  key_version integer,
  active boolean NOT NULL,
  deleted_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  virtual_pan text COLLATE "C" NOT NULL CHECK (virtual_pan ~ '^9[0-9]{15}$'),
  account_type text CHECK (account_type IN ('general_creditcard', 'general_bankaccount')),
  preferred_name text COLLATE "C",
  -- What responses show: masked, or not secret.
  shown json,
  sealed bytea,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT virtual_pan_once UNIQUE (organisation_id, virtual_pan),
  FOREIGN KEY (organisation_id, merchant_id, key_version) REFERENCES data_key (organisation_id, merchant_id, version),
  CONSTRAINT deleted_means_gone CHECK (CASE WHEN deleted_at IS NULL
    THEN sealed IS NOT NULL AND key_version IS NOT NULL AND shown IS NOT NULL AND preferred_name IS NOT NULL AND account_type IS NOT NULL
    ELSE sealed IS NULL AND key_version IS NULL AND shown IS NULL AND preferred_name IS NULL AND NOT active END)
);
CREATE UNIQUE INDEX preferred_name_once ON token (organisation_id, customer_id, preferred_name) WHERE deleted_at IS NULL;
CREATE INDEX token_of_customer ON token (organisation_id, customer_id, id) WHERE deleted_at IS NULL;
CREATE INDEX token_by_key ON token (organisation_id, merchant_id, key_version, id) WHERE deleted_at IS NULL;

ALTER TABLE transaction
  ADD card_key_version integer,
  ADD token_id integer,
  ADD card_sealed bytea;

-- Who did what. Only ever appended to.
CREATE TABLE journal (
  id bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  organisation_id integer,
  merchant_id integer,
  actor text NOT NULL,
  action text NOT NULL,
  customer_id integer,
  token_id integer,
  audit integer,
  correlation_id text,
  detail text,
  PRIMARY KEY (id)
);
CREATE INDEX journal_of_token ON journal (organisation_id, token_id) WHERE token_id IS NOT NULL;

CREATE FUNCTION journal_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the journal is only ever appended to' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON journal
  FOR EACH ROW EXECUTE FUNCTION journal_is_append_only();
CREATE TRIGGER journal_not_emptied BEFORE TRUNCATE ON journal
  FOR EACH STATEMENT EXECUTE FUNCTION journal_is_append_only();

-- The gateway works as this role where the owner of the database may make it: it can read and append to the journal, and
-- nothing else. Where it may not, the triggers alone guard the journal.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tollgate_application') THEN
    CREATE ROLE tollgate_application NOLOGIN;
  END IF;
  EXECUTE format('GRANT tollgate_application TO %I', current_user);
  GRANT USAGE ON SCHEMA public TO tollgate_application;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO tollgate_application;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO tollgate_application;
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO tollgate_application;
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO tollgate_application;
  REVOKE UPDATE, DELETE ON journal FROM tollgate_application;
  REVOKE INSERT, UPDATE, DELETE ON schema_migration FROM tollgate_application;
EXCEPTION WHEN insufficient_privilege OR unique_violation OR duplicate_object THEN
  RAISE WARNING 'the role tollgate_application could not be made: the journal is guarded by triggers alone';
END $$;
