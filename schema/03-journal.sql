-- The journal: who did what, so that nobody can change it unseen. Entries have a mark of the process that wrote them and a place in
-- a chain.

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
  -- Where it was done from: the client's address, or the machine of a command.
  address text,
  -- An HMAC by whoever wrote the entry, under a key that is not in the database, behind a number that is used once.
  mark bytea,
  -- Of a row that directs cards or money, or gives rights: which, such as `merchant/17`, its version, and the seal of what it says from
  -- then on. A row that does not fit the newest of its seals is not used.
  subject text,
  subject_version integer,
  seal bytea,
  -- Of an entry that has come with an organisation from another cell: its installation, and the entry's ID there.
  moved_from text,
  PRIMARY KEY (id),
  CONSTRAINT seal_is_whole CHECK (num_nonnulls(subject, subject_version, seal) IN (0, 3)),
  -- Nobody who verifies the journal looks below its first entry.
  CONSTRAINT id_was_handed_out CHECK (id > 0)
);
CREATE INDEX journal_of_seals ON journal (subject, subject_version DESC) INCLUDE (seal) WHERE subject IS NOT NULL;
-- An entry moves once, however often a move is begun.
CREATE UNIQUE INDEX journal_moved_once ON journal (moved_from) WHERE moved_from IS NOT NULL;
CREATE INDEX journal_of_token ON journal (organisation_id, token_id) WHERE token_id IS NOT NULL;
-- By these a payment with a token, and whoever opens a data key, ask the journal whether the token or the key is gone, or its seal was
-- replaced.
CREATE INDEX journal_of_token_changes ON journal (organisation_id, token_id, id)
  WHERE token_id IS NOT NULL AND action <> 'token.opened';
CREATE INDEX journal_of_destroyed_keys ON journal (organisation_id, merchant_id) WHERE action = 'keys.destroyed';
-- When the database was last backed up, and when it was brought back: looked for among all entries of the journal.
CREATE INDEX journal_of_backups ON journal (id) WHERE action IN ('gateway.backed_up', 'gateway.restored');
CREATE INDEX journal_of_transaction ON journal (organisation_id, audit, id)
  WHERE audit IS NOT NULL AND action <> 'token.opened';
CREATE INDEX journal_of_customer ON journal (organisation_id, customer_id, id)
  WHERE customer_id IS NOT NULL AND action <> 'token.opened';
-- That what was there before has been sealed: looked for among all entries of the journal.
CREATE INDEX journal_of_sealing ON journal (id) WHERE action = 'transactions.sealed';
-- Who was given access, when and by whom, and when access was last reviewed.
CREATE INDEX journal_of_access ON journal (id) WHERE action IN ('operator.added', 'user.added', 'operator.reviewed');
-- Seals that were found broken, which `doctor` counts.
CREATE INDEX journal_of_broken_seals ON journal (at) WHERE action = 'seal.broken';
-- Which files of acquirers were reconciled since.
CREATE INDEX journal_of_reconciliations ON journal (id) WHERE action = 'settlement.reconciled';

-- The chain. Each block takes up the entries that have been committed since the last one, and binds the block before it. Entries are
-- written by many processes at once and wait for nobody; one process at a time makes the next block, a moment later.
CREATE TABLE journal_block (
  number bigint PRIMARY KEY CHECK (number > 0),
  made_ms bigint NOT NULL,
  -- Its entries, as the first and the last id of each run of them.
  spans bigint[] NOT NULL,
  first_id bigint NOT NULL,
  last_id bigint NOT NULL,
  -- For each entry, in their order, sixteen bytes of an HMAC of it.
  tags bytea NOT NULL,
  -- Those without a mark: nobody of ours has written them.
  foreign_ids bigint[] NOT NULL DEFAULT '{}',
  -- An HMAC of all of this, and of the hash before it.
  hash bytea NOT NULL
);
CREATE INDEX journal_block_by_first_id ON journal_block (first_id);

CREATE FUNCTION journal_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the journal is only ever appended to' USING ERRCODE = 'insufficient_privilege';
END $$;
-- guard(schema: the journal is not changed): CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON journal ⇒ CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON schema_migration
-- guard(roles: operators do not change the journal): CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON journal ⇒ CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON schema_migration
CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE ON journal
  FOR EACH ROW EXECUTE FUNCTION journal_is_append_only();
-- guard(schema: the journal is not emptied): CREATE TRIGGER journal_not_emptied BEFORE TRUNCATE ON journal ⇒ CREATE TRIGGER journal_not_emptied BEFORE TRUNCATE ON schema_migration
CREATE TRIGGER journal_not_emptied BEFORE TRUNCATE ON journal
  FOR EACH STATEMENT EXECUTE FUNCTION journal_is_append_only();
CREATE TRIGGER journal_block_append_only BEFORE UPDATE OR DELETE ON journal_block
  FOR EACH ROW EXECUTE FUNCTION journal_is_append_only();
CREATE TRIGGER journal_block_not_emptied BEFORE TRUNCATE ON journal_block
  FOR EACH STATEMENT EXECUTE FUNCTION journal_is_append_only();

CREATE TABLE journal_chain (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Up to this id every entry is in a block, but for those in `journal_gap`.
  chained_up_to bigint NOT NULL DEFAULT 0
);
INSERT INTO journal_chain DEFAULT VALUES;

-- Ids that were not there when a block took up higher ones: of transactions that are not committed yet, or never will be.
CREATE TABLE journal_gap (
  first_id bigint PRIMARY KEY,
  last_id bigint NOT NULL,
  noticed_at timestamptz NOT NULL DEFAULT now(),
  -- Every transaction that may still fill it is older than this.
  noticed_before xid8 NOT NULL DEFAULT pg_snapshot_xmax(pg_current_snapshot())
);
