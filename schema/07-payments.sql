-- Payments: transactions, and what lets several processes share them.

-- The rules that a row of `transaction` keeps, in one function instead of ten constraints. PostgreSQL reads every CHECK of a table
-- anew, from its text, for each statement that writes to it: that took a third of its time for a lone purchase. A function is
-- read once by a session. Each rule keeps its name, which the error says.
-- Most rows are of purchases to which nothing was done since. PostgreSQL makes an expression ready once in each transaction that comes
-- to it: with this short one first, the long one is hardly ever needed.
-- guard(refund: no more than the original, without the constraint that stands behind it): refunded_cents BETWEEN 0 AND amount_cents ⇒ refunded_cents >= 0
-- guard(schema: an audit is positive): NOT audit > 0 ⇒ false
-- guard(schema: an amount is positive): NOT amount_cents > 0 ⇒ false
-- guard(schema: a type that nobody knows): NOT transaction_type IN ('purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void') ⇒ false
-- guard(schema: a status that nobody knows): NOT status IN ('unknown', 'approved', 'declined', 'pending', 'error', 'voided') ⇒ false
-- guard(schema: in doubt is -99, and nothing else is): NOT (status = 'unknown') = (gateway_status_code = -99) ⇒ false
-- guard(schema: refunds of more than the amount): refunded_cents BETWEEN 0 AND amount_cents ⇒ refunded_cents >= 0
-- guard(schema: refunds of less than nothing): refunded_cents BETWEEN 0 AND amount_cents ⇒ refunded_cents <= amount_cents
-- guard(schema: refunds of what cannot be refunded): AND (refunded_cents = 0 OR transaction_type IN ('purchase', 'completion')) ⇒
-- guard(schema: a completion of more than the amount): completed_cents BETWEEN 0 AND amount_cents ⇒ completed_cents >= 0
-- guard(schema: a completed amount without a completion): (completed_by IS NOT NULL) = (completed_cents > 0) ⇒ (completed_by IS NULL OR completed_cents > 0)
-- guard(schema: a completion without an amount): (completed_by IS NOT NULL) = (completed_cents > 0) ⇒ (completed_by IS NOT NULL OR completed_cents = 0)
-- guard(schema: a completion of what is no preauthorisation): AND (completed_by IS NULL OR transaction_type = 'preauthorisation') ⇒
-- guard(schema: a void of what has refunds): OR (refunded_cents = 0 AND completed_by IS NULL AND ⇒ OR (completed_by IS NULL AND
-- guard(schema: a void of what is completed): OR (refunded_cents = 0 AND completed_by IS NULL AND ⇒ OR (refunded_cents = 0 AND
-- guard(schema: a void of a void): AND transaction_type <> 'void')) ⇒ ))
-- guard(schema: voided without a void): NOT (status <> 'voided' OR voided_by IS NOT NULL) ⇒ false
-- guard(schema: an operation without its target): NOT (target_audit IS NOT NULL) = (transaction_type IN ('completion', 'refund', 'void')) ⇒ NOT (target_audit IS NULL OR transaction_type IN ('completion', 'refund', 'void'))
-- guard(schema: a target where none is due): NOT (target_audit IS NOT NULL) = (transaction_type IN ('completion', 'refund', 'void')) ⇒ NOT (target_audit IS NOT NULL OR transaction_type NOT IN ('completion', 'refund', 'void'))
-- guard(schema: by the short rule an audit is positive): AND audit > 0 AND amount ⇒ AND amount
-- guard(schema: by the short rule an amount is positive): AND amount_cents > 0 AND refunded_cents = 0 ⇒ AND refunded_cents = 0
-- guard(schema: by the short rule nothing is refunded): AND refunded_cents = 0 AND completed_cents = 0 ⇒ AND completed_cents = 0
-- guard(schema: by the short rule no amount is completed): AND completed_cents = 0 ⇒
-- guard(schema: by the short rule there is no completion): target_audit IS NULL AND completed_by IS NULL) ⇒ target_audit IS NULL)
-- guard(schema: by the short rule there is no target): target_audit IS NULL AND completed_by IS NULL) ⇒ completed_by IS NULL)
-- guard(schema: by the short rule an answer has a status): WHEN 0 THEN status = 'approved' ⇒ WHEN 0 THEN true
CREATE FUNCTION transaction_is_sound(audit integer, amount_cents bigint, transaction_type text, status text,
  gateway_status_code smallint, refunded_cents bigint, completed_cents bigint, target_audit integer, completed_by integer,
  voided_by integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text;
BEGIN
  IF (transaction_type = 'purchase' AND CASE gateway_status_code WHEN 0 THEN status = 'approved' WHEN -99 THEN status = 'unknown' END
    AND audit > 0 AND amount_cents > 0 AND refunded_cents = 0 AND completed_cents = 0
    AND target_audit IS NULL AND completed_by IS NULL) THEN
    RETURN true;
  END IF;
  broken := CASE
    WHEN NOT audit > 0 THEN 'audit_is_positive'
    WHEN NOT amount_cents > 0 THEN 'amount_is_positive'
    WHEN NOT transaction_type IN ('purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void')
      THEN 'transaction_type_known'
    WHEN NOT status IN ('unknown', 'approved', 'declined', 'pending', 'error', 'voided') THEN 'status_known'
    WHEN NOT (status = 'unknown') = (gateway_status_code = -99) THEN 'undecided_is_99'
    WHEN NOT (refunded_cents BETWEEN 0 AND amount_cents
      AND (refunded_cents = 0 OR transaction_type IN ('purchase', 'completion'))) THEN 'refunds_fit'
    WHEN NOT (completed_cents BETWEEN 0 AND amount_cents AND (completed_by IS NOT NULL) = (completed_cents > 0)
      AND (completed_by IS NULL OR transaction_type = 'preauthorisation')) THEN 'completion_fits'
    WHEN NOT (voided_by IS NULL OR (refunded_cents = 0 AND completed_by IS NULL AND transaction_type <> 'void'))
      THEN 'void_excludes_the_rest'
    WHEN NOT (status <> 'voided' OR voided_by IS NOT NULL) THEN 'voided_by_a_void'
    WHEN NOT (target_audit IS NOT NULL) = (transaction_type IN ('completion', 'refund', 'void')) THEN 'target_where_due'
  END;
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE EXCEPTION 'a transaction would break the rule "%"', broken
    USING ERRCODE = 'check_violation', TABLE = 'transaction', CONSTRAINT = broken;
END $$;

CREATE TABLE transaction (
  organisation_id integer NOT NULL,
  audit integer NOT NULL,
  created_at timestamptz NOT NULL,
  amount_cents bigint NOT NULL,
  -- Live refunds of this transaction: approved and undecided ones.
  refunded_cents bigint NOT NULL DEFAULT 0,
  completed_cents bigint NOT NULL DEFAULT 0,
  merchant_id integer NOT NULL,
  target_audit integer,
  -- The live completion of this preauthorisation and the live void of this transaction.
  completed_by integer,
  voided_by integer,
  gateway_status_code smallint NOT NULL DEFAULT -99,
  reversing boolean NOT NULL DEFAULT false,
  resolve_attempts integer NOT NULL DEFAULT 0,
  -- When the resolver looks at it next. Empty for a transaction on its ordinary way, so that recording an
  -- answer touches no index.
  resolve_at timestamptz,
  completable_until timestamptz,
  voidable_until timestamptz,
  settlement_date date,
  transaction_type text NOT NULL,
  status text NOT NULL DEFAULT 'unknown',
  currency text NOT NULL,
  correlation_id text COLLATE "C" NOT NULL,
  reference text NOT NULL,
  acquirer text NOT NULL,
  card_mask text,
  card_type text,
  kvps json,
  response_code text,
  response_message text,
  authorisation_code text,
  preauthorisation_code text,
  payment_details_key_version integer,
  token_id integer,
  payment_details_sealed bytea,
  -- What responses show of the bank account. Its secrets are sealed where a card's are.
  bank_account json,
  -- What the plugins decided: {"originalCents": the amount as submitted, "decisions": {plugin: its own}}. Empty where none did.
  pricing json,
  -- When the status was last set, by the gateway's clock. Searches by correlation ID count their hours from it.
  decided_at timestamptz,
  -- What a link to an acquirer wants to be durable before it is asked, so that any process can inquire about an order,
  -- repeat it or reverse it. JSON of the link's own; empty where the link gets by without.
  prepared jsonb,
  -- How often it has changed its status: the version of the newest event about it.
  version integer NOT NULL DEFAULT 0,
  -- The user whose request it was, or the negative number of an operator.
  user_id integer,
  -- What was asked of an earlier transaction (which one, how much), authenticated under the installation's key. What is asked of a payment
  -- method of its own is part of that method's seal.
  attestation bytea,
  -- When a transaction was written to an archive and lost what only the archive keeps: the key-value pairs that its client sent, and what
  -- its link needed to inquire about it or to reverse it. The rest stays: the audit is the lasting identifier, and a correlation ID that
  -- was won is won for good.
  archived_at timestamptz,
  -- What was decided, authenticated under the installation's key: the outcome, and what money depends on. Empty in doubt.
  outcome_seal bytea,
  -- How the cardholder takes part: {"credential": who pays with a card that is kept, and under which agreement, "threeDSecure": what look-ups
  -- show of a check}. Empty where nothing was said.
  cardholder json,
  -- Under which the card's network knows the payment.
  network_transaction_id text,
  -- guard(schema: an audit is given once): PRIMARY KEY (organisation_id, audit), ⇒
  PRIMARY KEY (organisation_id, audit),
  -- The correlation ID leads, so that the index serves only who asks for one. With the organisation in front it looks as good as the
  -- primary key to whoever plans on an empty table, and a plan that is kept would read all of an organisation.
  -- guard(correlation ID: unique by constraint): UNIQUE (correlation_id, merchant_id, organisation_id) ⇒ UNIQUE (correlation_id, merchant_id, organisation_id, audit)
  CONSTRAINT correlation_id_once UNIQUE (correlation_id, merchant_id, organisation_id),
  CONSTRAINT sound CHECK (transaction_is_sound(audit, amount_cents, transaction_type, status, gateway_status_code,
    refunded_cents, completed_cents, target_audit, completed_by, voided_by))
-- Commit B writes a second version of every row, a little longer than the first. With less than half of a page filled the second
-- versions of all its rows fit beside the first, and no index has to be touched for them.
) WITH (fillfactor = 45);
CREATE INDEX transaction_to_resolve ON transaction (resolve_at) WHERE resolve_at IS NOT NULL;
-- The indexes that lists walk along, the newest first. What a purchase pays is one entry at the end of transaction_by_time, and one in
-- transaction_by_reference; the others are for what few purchases are. No index has a column that commit B sets, so that it goes on
-- touching none.
-- The condition holds for every row. It keeps the index from statements that do not speak of time: on an empty table it would
-- look as good to them as the primary key, and a plan that is kept would read all of a merchant.
CREATE INDEX transaction_by_time ON transaction (organisation_id, merchant_id, created_at, audit)
  WHERE created_at > '-infinity';
-- For the beginning of a reference, in the order of bytes.
CREATE INDEX transaction_by_reference ON transaction (organisation_id, merchant_id, reference text_pattern_ops)
  WHERE created_at > '-infinity';
CREATE INDEX transaction_by_type ON transaction (organisation_id, merchant_id, transaction_type, created_at, audit)
  WHERE transaction_type <> 'purchase';
CREATE INDEX transaction_of_target ON transaction (organisation_id, merchant_id, target_audit, created_at, audit)
  WHERE target_audit IS NOT NULL;
CREATE INDEX transaction_of_token ON transaction (organisation_id, merchant_id, token_id, created_at, audit)
  WHERE token_id IS NOT NULL;
CREATE INDEX transaction_of_bank_account ON transaction (organisation_id, merchant_id, created_at, audit)
  WHERE bank_account IS NOT NULL;
-- What the resolver ever had to find out: such a transaction may have been decided long after it was made.
CREATE INDEX transaction_once_in_doubt ON transaction (organisation_id, merchant_id, created_at, audit)
  WHERE resolve_attempts > 0;

-- What is decided stays decided, whoever writes: in doubt is what the resolver has reversed, and what a card is opened for again.
-- guard(schema: what is decided is never in doubt again): NEW.status = 'unknown' OR OLD.status ⇒ OLD.status
-- guard(schema: what was declined, has failed or was voided stays so): OLD.status IN ('declined', 'error', 'voided') ⇒ false
CREATE FUNCTION transaction_stays_decided() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'unknown' OR OLD.status IN ('declined', 'error', 'voided')
    OR (OLD.status = 'approved' AND NEW.status NOT IN ('declined', 'voided')) THEN
    RAISE EXCEPTION 'a transaction that is decided stays decided' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NULL;
END $$;
-- Afterwards, and still in the same statement: before, PostgreSQL locks each row first, also where the condition does not hold, and every
-- commit B would pay for another log record.
CREATE TRIGGER transaction_stays_decided AFTER UPDATE OF status ON transaction FOR EACH ROW
  WHEN (OLD.status <> 'unknown' AND NEW.status <> OLD.status) EXECUTE FUNCTION transaction_stays_decided();

COMMENT ON COLUMN transaction.payment_details_sealed IS 'The payment details, of a card or of a bank account, sealed.';

-- A block of audits that a process may hand out. It stays until every audit in it is decided or handed to
-- the resolver, so that a dead process's open transactions are found without an index that every purchase pays for.
CREATE TABLE audit_lease (
  organisation_id integer NOT NULL,
  first_audit integer NOT NULL,
  last_audit integer NOT NULL,
  process_id bigint NOT NULL REFERENCES process ON DELETE CASCADE,
  PRIMARY KEY (organisation_id, first_audit)
);
CREATE INDEX audit_lease_process ON audit_lease (process_id);

-- A sweep under way: the audits of an organisation up to this one have still to be looked at, from the newest to the oldest,
-- for transactions in doubt that nobody looks after. Empty most of the time.
CREATE TABLE sweep (
  organisation_id integer PRIMARY KEY,
  up_to integer NOT NULL,
  swept_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sweep_in_turns ON sweep (swept_at);

-- An absence: a search has told a client that a correlation ID has no transaction, and the client may pay again under
-- another. A request with that ID that was received before the answer, and had not won the ID by then, must not be
-- processed any more; one that is received later may be.
CREATE TABLE absence (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  correlation_id text COLLATE "C" NOT NULL,
  -- The process that made it. It sees to its own requests itself.
  process_id bigint NOT NULL,
  number bigint NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, merchant_id, correlation_id, process_id)
);
CREATE INDEX absence_by_number ON absence (number);

-- Every claim holds the gate open until it is committed; an absence is made while the gate is closed. So a claim either
-- is visible to the search that follows the absence, or sees the absence. The functions are volatile: each of their
-- queries sees what was committed before it, and not only before the statement that calls them.
-- A lock that is taken in an expression is no query of its own, as it is with PERFORM.
CREATE FUNCTION no_absence_after(known bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  gate CONSTANT text := pg_advisory_xact_lock_shared(hashtext('tollgate absences'));
  newest bigint;
BEGIN
  SELECT newest_absence INTO newest FROM gateway;
  RETURN newest <= known;
END $$;

CREATE FUNCTION absent_after(organisation integer, merchant integer, sent text, known bigint, asking bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT forgotten_absence > known FROM gateway) OR EXISTS (
    SELECT FROM absence WHERE organisation_id = organisation AND merchant_id = merchant AND correlation_id = sent
      AND number > known AND process_id <> asking);
END $$;

-- Returns the number of the new absences. Correlation IDs that a transaction holds by now are left out.
-- It gives up after a moment: while it waits for a claim that is held up, every other claim waits behind it.
-- Where transactions are spread, those that hold the correlation IDs are read from the server of each organisation.
CREATE FUNCTION make_absences(organisations integer[], merchants integer[], correlation_ids text[], making bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE SET lock_timeout = '100ms' AS $$
DECLARE
  next_number bigint;
  spread integer;
  one integer;
  taken text[] := '{}';
  of_one text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tollgate absences'));
  UPDATE gateway SET newest_absence = newest_absence + 1 RETURNING newest_absence, distribution INTO next_number, spread;
  IF spread IS NULL THEN
    INSERT INTO absence (organisation_id, merchant_id, correlation_id, process_id, number)
    SELECT DISTINCT asked.organisation_id, asked.merchant_id, asked.correlation_id, making, next_number
    FROM unnest(organisations, merchants, correlation_ids) AS asked(organisation_id, merchant_id, correlation_id)
    WHERE NOT EXISTS (SELECT FROM transaction t WHERE t.organisation_id = asked.organisation_id
      AND t.merchant_id = asked.merchant_id AND t.correlation_id = asked.correlation_id)
    ON CONFLICT (organisation_id, merchant_id, correlation_id, process_id)
    DO UPDATE SET number = excluded.number, made_at = excluded.made_at;
    RETURN next_number;
  END IF;
  FOR one IN SELECT DISTINCT unnest(organisations) LOOP
    SELECT array_agg(one || '/' || t.merchant_id || '/' || t.correlation_id) INTO of_one FROM transaction t
    WHERE t.organisation_id = one AND t.correlation_id = ANY (correlation_ids);
    taken := taken || coalesce(of_one, '{}');
  END LOOP;
  INSERT INTO absence (organisation_id, merchant_id, correlation_id, process_id, number)
  SELECT DISTINCT asked.organisation_id, asked.merchant_id, asked.correlation_id, making, next_number
  FROM unnest(organisations, merchants, correlation_ids) AS asked(organisation_id, merchant_id, correlation_id)
  WHERE asked.organisation_id || '/' || asked.merchant_id || '/' || asked.correlation_id <> ALL (taken)
  ON CONFLICT (organisation_id, merchant_id, correlation_id, process_id)
  DO UPDATE SET number = excluded.number, made_at = excluded.made_at;
  RETURN next_number;
END $$;

-- When sealed cards end. What is declined, has failed or was voided loses its card in the statement that says so. Of the rest every
-- row is looked at twice, along transaction_by_time: soon after it was made, and when it can be refunded no more. No column and no
-- index of `transaction` is needed for it, so that a purchase pays nothing.

-- How far the cards of a merchant have been looked at: everything up to these places, in the order of transaction_by_time.
CREATE TABLE card_review (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  first_at timestamptz NOT NULL DEFAULT '-infinity',
  first_audit integer NOT NULL DEFAULT 0,
  last_at timestamptz NOT NULL DEFAULT '-infinity',
  last_audit integer NOT NULL DEFAULT 0,
  -- When it is this merchant's turn, by the gateway's clock. The one that has waited longest comes first.
  next_at timestamptz NOT NULL DEFAULT '-infinity',
  -- How many cards have been destroyed in its turns.
  destroyed bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (organisation_id, merchant_id),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
) WITH (fillfactor = 50);
CREATE INDEX card_review_in_turns ON card_review (next_at);

-- Cards that end between those two looks, or could not end at the second: undecided ones, those that can be completed or voided.
CREATE TABLE card_held (
  organisation_id integer NOT NULL,
  audit integer NOT NULL,
  merchant_id integer NOT NULL,
  look_at timestamptz NOT NULL,
  PRIMARY KEY (organisation_id, audit)
);
CREATE INDEX card_held_due ON card_held (organisation_id, merchant_id, look_at);

-- Tokens of deleted customers with more payments than could be looked at when the customer was deleted, and how far they have been.
CREATE TABLE card_of_deleted_customer (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  token_id integer NOT NULL,
  up_to_at timestamptz NOT NULL DEFAULT '-infinity',
  up_to_audit integer NOT NULL DEFAULT 0,
  PRIMARY KEY (organisation_id, merchant_id, token_id)
);
