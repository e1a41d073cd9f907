-- Credentials that nobody can make who can only write to the database, and what a user may do, from where and until when.

-- Keys of the installation itself, wrapped by the key-encryption key. Whoever writes to the database can take one away, and put none
-- of their own in its place.
CREATE TABLE installation_key (
  name text PRIMARY KEY,
  key_encryption_key text NOT NULL,
  wrapped bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE gateway_user
  -- What transactions and events know it by.
  ADD id integer GENERATED ALWAYS AS IDENTITY CONSTRAINT gateway_user_id UNIQUE,
  ADD permissions text[] NOT NULL DEFAULT '{read,payments,refunds,standalone-refunds,vault}'
    CONSTRAINT permissions_known CHECK (permissions <@ '{read,payments,refunds,standalone-refunds,vault}' AND cardinality(permissions) > 0),
  -- Networks from which it may call; none: from everywhere.
  ADD from_addresses text[] NOT NULL DEFAULT '{}',
  ADD expires_at timestamptz,
  -- HMACs of its secrets, under a key that is not in the database. Those of an earlier release have none: see the seal.
  ADD secret_tag bytea,
  ADD previous_secret_tag bytea,
  -- Up to when the secret before this one works, too.
  ADD previous_until timestamptz,
  -- Counts its changes.
  ADD version integer NOT NULL DEFAULT 0,
  -- An HMAC of all of this and of its grants. A row that is not as it was sealed is nobody's.
  ADD seal bytea,
  ADD CONSTRAINT previous_secret_ends CHECK ((previous_secret_tag IS NULL) = (previous_until IS NULL));

-- While it is suspended nothing is created or changed for it. It can be looked up as before.
ALTER TABLE merchant ADD suspended_at timestamptz;

-- Processes of an earlier release go by `secret_digest`, and know nothing of seals.
ALTER TABLE process ADD knows_seals boolean NOT NULL DEFAULT false;

-- The digests of earlier releases go when the last process has ended that goes by them. No secret has a digest of zeros. It works with
-- the rights of its owner: the gateway's own role may not write users.
CREATE FUNCTION forget_secret_digests() RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  forgotten integer;
BEGIN
  UPDATE gateway_user SET secret_digest = decode(repeat('00', 32), 'hex')
  WHERE secret_digest <> decode(repeat('00', 32), 'hex') AND NOT EXISTS (SELECT FROM process WHERE NOT knows_seals);
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $$;

DO $$
BEGIN
  REVOKE INSERT, UPDATE, DELETE ON gateway_user, user_grant, installation_key FROM tollgate_application;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  NULL;
END $$;
