-- Finding transactions: the indexes that lists walk along, the newest first. What a purchase pays is one entry at the end of
-- transaction_by_time, and one in transaction_by_reference; the others are for what few purchases are. No index has a column that
-- commit B sets, so that it goes on touching none.

-- On a large table, make them beforehand, one by one, with CREATE INDEX CONCURRENTLY: then nothing waits for this migration.

-- The condition holds for every row. It keeps the index from statements that do not speak of time: on an empty table it would
-- look as good to them as the primary key, and a plan that is kept would read all of a merchant.
CREATE INDEX IF NOT EXISTS transaction_by_time ON transaction (organisation_id, merchant_id, created_at, audit)
  WHERE created_at > '-infinity';
-- For the beginning of a reference, in the order of bytes.
CREATE INDEX IF NOT EXISTS transaction_by_reference ON transaction (organisation_id, merchant_id, reference text_pattern_ops)
  WHERE created_at > '-infinity';

CREATE INDEX IF NOT EXISTS transaction_by_type ON transaction (organisation_id, merchant_id, transaction_type, created_at, audit)
  WHERE transaction_type <> 'purchase';
CREATE INDEX IF NOT EXISTS transaction_of_target ON transaction (organisation_id, merchant_id, target_audit, created_at, audit)
  WHERE target_audit IS NOT NULL;
CREATE INDEX IF NOT EXISTS transaction_of_token ON transaction (organisation_id, merchant_id, token_id, created_at, audit)
  WHERE token_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS transaction_of_bank_account ON transaction (organisation_id, merchant_id, created_at, audit)
  WHERE bank_account IS NOT NULL;
-- What the resolver ever had to find out: such a transaction may have been decided long after it was made.
CREATE INDEX IF NOT EXISTS transaction_once_in_doubt ON transaction (organisation_id, merchant_id, created_at, audit)
  WHERE resolve_attempts > 0;

-- Tokens that are gone still lead to what was paid with them.
CREATE INDEX IF NOT EXISTS token_gone_of_customer ON token (organisation_id, customer_id, id) WHERE deleted_at IS NOT NULL;

-- Completions, refunds and voids belong to the token that was paid with, as new ones say from now on. Each turn goes one
-- operation further: a refund of a completion, a void of that.
DO $$
BEGIN
  FOR turn IN 1..3 LOOP
    UPDATE transaction t SET token_id = target.token_id
    FROM transaction target
    WHERE t.target_audit IS NOT NULL AND t.token_id IS NULL
      AND target.organisation_id = t.organisation_id AND target.audit = t.target_audit AND target.token_id IS NOT NULL;
  END LOOP;
END $$;
