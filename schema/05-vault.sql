-- The vault: the keys that seal card data, customers and tokens.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- The newest version seals, every version opens. A version that nothing uses any more can be destroyed: its row goes.
CREATE TABLE data_key (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  key_encryption_key text NOT NULL,
  wrapped bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When everything was sealed anew under a newer version.
  emptied_at timestamptz,
  PRIMARY KEY (organisation_id, merchant_id, version),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);

-- A version that was destroyed does not come back, and what a key is for does not change.
CREATE FUNCTION data_key_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NOT EXISTS (SELECT FROM data_key WHERE organisation_id = NEW.organisation_id
    AND merchant_id = NEW.merchant_id AND version > NEW.version) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'a data key that was destroyed does not come back, and a key stays what it was made for'
    USING ERRCODE = 'check_violation', TABLE = 'data_key', CONSTRAINT = 'data_key_is_kept';
END $$;
-- guard(schema: a data key that was destroyed is not put back): CREATE TRIGGER data_key_is_new BEFORE INSERT ON data_key FOR EACH ROW EXECUTE FUNCTION data_key_is_kept(); ⇒
CREATE TRIGGER data_key_is_new BEFORE INSERT ON data_key FOR EACH ROW EXECUTE FUNCTION data_key_is_kept();
CREATE TRIGGER data_key_is_kept BEFORE UPDATE ON data_key FOR EACH ROW
  -- guard(schema: a data key keeps its version): OR NEW.version <> OLD.version ⇒
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.merchant_id <> OLD.merchant_id OR NEW.version <> OLD.version)
  EXECUTE FUNCTION data_key_is_kept();

-- How much each data key has sealed. Every process adds what it has sealed from time to time, so that it is a little less than it is.
CREATE TABLE data_key_use (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  version integer NOT NULL,
  seals bigint NOT NULL,
  PRIMARY KEY (organisation_id, merchant_id, version)
) WITH (fillfactor = 50);

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
  -- How often they have changed: the versions of the newest events about them.
  version integer NOT NULL DEFAULT 0,
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
  -- guard(schema: a virtual PAN that is none): CHECK (virtual_pan ~ '^9[0-9]{15}$') ⇒
  virtual_pan text COLLATE "C" NOT NULL CHECK (virtual_pan ~ '^9[0-9]{15}$'),
  account_type text CHECK (account_type IN ('general_creditcard', 'general_bankaccount')),
  preferred_name text COLLATE "C",
  -- What responses show: masked, or not secret.
  shown json,
  sealed bytea,
  version integer NOT NULL DEFAULT 0,
  -- Counts the accounts that a token has had: each is sealed under a number of its own.
  seal_version integer NOT NULL DEFAULT 0,
  -- Under which the card's network knows the first payment with it, attested for this token.
  network_transaction_id text,
  network_transaction_mark bytea,
  PRIMARY KEY (organisation_id, id),
  -- guard(schema: a virtual PAN is handed out once): UNIQUE (organisation_id, virtual_pan) ⇒ UNIQUE (organisation_id, virtual_pan, id)
  CONSTRAINT virtual_pan_once UNIQUE (organisation_id, virtual_pan),
  -- guard(schema: a data key that a token still needs): FOREIGN KEY (organisation_id, merchant_id, key_version) REFERENCES data_key (organisation_id, merchant_id, version), ⇒
  FOREIGN KEY (organisation_id, merchant_id, key_version) REFERENCES data_key (organisation_id, merchant_id, version),
  -- guard(schema: a token without its card): THEN sealed IS NOT NULL AND key_version ⇒ THEN key_version
  CONSTRAINT deleted_means_gone CHECK (CASE WHEN deleted_at IS NULL THEN sealed IS NOT NULL AND key_version IS NOT NULL AND
    -- guard(schema: a deleted token that still holds its card): ELSE sealed IS NULL AND key_version IS NULL ⇒ ELSE key_version IS NULL
    shown IS NOT NULL AND preferred_name IS NOT NULL AND account_type IS NOT NULL ELSE sealed IS NULL AND key_version IS NULL AND
    -- guard(schema: a deleted token that is still active): AND preferred_name IS NULL AND NOT active END ⇒ AND preferred_name IS NULL END
    shown IS NULL AND preferred_name IS NULL AND NOT active END)
);
CREATE UNIQUE INDEX preferred_name_once ON token (organisation_id, customer_id, preferred_name) WHERE deleted_at IS NULL;
CREATE INDEX token_of_customer ON token (organisation_id, customer_id, id) WHERE deleted_at IS NULL;
CREATE INDEX token_by_key ON token (organisation_id, merchant_id, key_version, id) WHERE deleted_at IS NULL;
-- Tokens that are gone still lead to what was paid with them.
CREATE INDEX token_gone_of_customer ON token (organisation_id, customer_id, id) WHERE deleted_at IS NOT NULL;

-- A token keeps what it was made with, its seals only get newer, and one that was deleted stays deleted.
CREATE FUNCTION token_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a token keeps its virtual PAN and its customer, its seal is not set back, and a deleted one stays deleted'
    USING ERRCODE = 'check_violation', TABLE = 'token', CONSTRAINT = 'token_is_kept';
END $$;
CREATE TRIGGER token_is_kept BEFORE UPDATE ON token FOR EACH ROW
  WHEN (NEW.organisation_id <> OLD.organisation_id OR NEW.id <> OLD.id OR NEW.merchant_id <> OLD.merchant_id
    -- guard(schema: a token keeps its virtual PAN): OR NEW.virtual_pan <> OLD.virtual_pan ⇒
    -- guard(schema: a token keeps its customer): OR NEW.customer_id <> OLD.customer_id OR NEW.virtual_pan <> OLD.virtual_pan ⇒
    OR NEW.customer_id <> OLD.customer_id OR NEW.virtual_pan <> OLD.virtual_pan
    -- guard(schema: the seal of a token is not set back): NEW.seal_version < OLD.seal_version OR ⇒
    OR NEW.seal_version < OLD.seal_version OR NEW.version < OLD.version
    -- guard(schema: a deleted token stays deleted): OR (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL) ⇒
    OR (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL))
  EXECUTE FUNCTION token_is_kept();
-- guard(schema: a token is not removed): CREATE TRIGGER token_is_not_removed BEFORE DELETE ON token FOR EACH ROW EXECUTE FUNCTION token_is_kept(); ⇒
CREATE TRIGGER token_is_not_removed BEFORE DELETE ON token FOR EACH ROW EXECUTE FUNCTION token_is_kept();
CREATE TRIGGER tokens_are_not_removed BEFORE TRUNCATE ON token FOR EACH STATEMENT EXECUTE FUNCTION token_is_kept();

-- What imported tokens were called where they came from. By it the database decides that an import which is run again, or twice at the
-- same time, adds nothing twice: a row is written in the transaction that adds its token.
CREATE TABLE former_token_id (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  former_id text COLLATE "C" NOT NULL,
  -- Whose ID it is, such as `stripe`: two vaults may have given out the same one.
  source text COLLATE "C" NOT NULL,
  customer_id integer NOT NULL,
  token_id integer NOT NULL,
  imported_at timestamptz NOT NULL DEFAULT now(),
  -- By which the same card of the same customer is recognised: an HMAC under a key that is not in the database. Of the first ID that a
  -- token was imported under only, and only as long as the token has that card.
  recognition bytea,
  CONSTRAINT former_token_id_once PRIMARY KEY (organisation_id, merchant_id, former_id, source),
  CONSTRAINT imported_card_once UNIQUE (organisation_id, customer_id, recognition)
);
CREATE INDEX former_ids_of_token ON former_token_id (organisation_id, token_id);

-- Cards for one payment, which payers have given on a page of the gateway: until they are used, and for some minutes at most. The CVV is
-- sealed with the rest, and goes with it.
CREATE TABLE one_time_card (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  virtual_pan text COLLATE "C" NOT NULL,
  expires_at timestamptz NOT NULL,
  key_version integer NOT NULL,
  sealed bytea NOT NULL,
  -- The correlation ID of the payment that has taken it: another one does not get it.
  taken_by text COLLATE "C",
  PRIMARY KEY (organisation_id, virtual_pan),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX one_time_card_to_forget ON one_time_card (expires_at);
