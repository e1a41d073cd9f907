-- Checkouts: what a payer is asked to pay on a page of the gateway, and each attempt to pay it.

CREATE TABLE checkout (
  organisation_id integer NOT NULL,
  -- Of the organisation; what events know it by.
  number integer NOT NULL CHECK (number > 0),
  merchant_id integer NOT NULL,
  -- Whoever knows it may pay: nobody can guess it.
  id text COLLATE "C" NOT NULL CONSTRAINT checkout_id_once UNIQUE,
  correlation_id text COLLATE "C" NOT NULL,
  -- By the gateway's clock.
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  attempts_allowed smallint NOT NULL CHECK (attempts_allowed BETWEEN 1 AND 10),
  -- What was asked for: amount, operation, addresses and the rest. A text that never changes, authenticated by the seal.
  terms json NOT NULL,
  seal bytea NOT NULL,
  user_id integer,
  status text NOT NULL DEFAULT 'open' CONSTRAINT checkout_status_known CHECK (status IN ('open', 'complete', 'expired', 'cancelled')),
  attempts smallint NOT NULL DEFAULT 0,
  -- While an attempt is under way or in doubt: so long its process looks after it.
  attempt_until timestamptz,
  result_audit integer,
  result_virtual_pan text COLLATE "C",
  PRIMARY KEY (organisation_id, number),
  CONSTRAINT checkout_correlation_id_once UNIQUE (organisation_id, merchant_id, correlation_id),
  CONSTRAINT checkout_attempts_allowed CHECK (attempts BETWEEN 0 AND attempts_allowed),
  CONSTRAINT complete_has_a_result CHECK ((status = 'complete') = (num_nonnulls(result_audit, result_virtual_pan) = 1)),
  -- guard(schema: a checkout ends only when nothing of it is under way): CONSTRAINT nothing_under_way_at_the_end CHECK (status = 'open' OR attempt_until IS NULL), ⇒
  CONSTRAINT nothing_under_way_at_the_end CHECK (status = 'open' OR attempt_until IS NULL),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX checkout_to_expire ON checkout (expires_at) WHERE status = 'open';
CREATE INDEX checkout_under_way ON checkout (attempt_until) WHERE attempt_until IS NOT NULL;

-- What has ended stays as it ended, and no attempt is forgotten: a payer would be asked to pay again.
CREATE FUNCTION checkout_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a checkout that has ended stays as it ended, no attempt of it is forgotten, and what it asks for does not change'
    USING ERRCODE = 'check_violation', TABLE = 'checkout', CONSTRAINT = 'checkout_is_kept';
END $$;
CREATE TRIGGER checkout_is_kept BEFORE UPDATE ON checkout FOR EACH ROW
  -- guard(schema: a checkout that has ended is not opened again): OLD.status <> 'open' AND NEW.status <> OLD.status ⇒ false
  -- guard(schema: no attempt of a checkout is forgotten): OR NEW.attempts < OLD.attempts ⇒
  -- guard(schema: a checkout keeps what it asks for): OR NEW.terms::text <> OLD.terms::text ⇒
  WHEN ((OLD.status <> 'open' AND NEW.status <> OLD.status) OR NEW.attempts < OLD.attempts OR NEW.terms::text <> OLD.terms::text
    OR NEW.id <> OLD.id OR NEW.merchant_id <> OLD.merchant_id)
  EXECUTE FUNCTION checkout_is_kept();
CREATE TRIGGER checkout_is_not_removed BEFORE DELETE ON checkout FOR EACH ROW EXECUTE FUNCTION checkout_is_kept();

-- An attempt is claimed here before the pipeline hears of it, and its number is part of the correlation ID of its payment.
CREATE TABLE checkout_attempt (
  organisation_id integer NOT NULL,
  checkout integer NOT NULL,
  n smallint NOT NULL CHECK (n > 0),
  claimed_at timestamptz NOT NULL,
  -- Empty while it is under way or in doubt.
  outcome text CONSTRAINT attempt_outcome_known CHECK (outcome IN ('paid', 'not paid')),
  -- Of its transaction, if it came to one.
  audit integer,
  PRIMARY KEY (organisation_id, checkout, n),
  FOREIGN KEY (organisation_id, checkout) REFERENCES checkout (organisation_id, number)
);
-- One payment for a checkout: what may have been paid keeps every further attempt away.
-- guard(schema: a checkout is paid once): CREATE UNIQUE INDEX checkout_pays_once ⇒ CREATE INDEX checkout_pays_once
CREATE UNIQUE INDEX checkout_pays_once ON checkout_attempt (organisation_id, checkout) WHERE outcome IS NULL OR outcome = 'paid';

CREATE FUNCTION attempt_is_decided_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an attempt that is decided stays decided'
    USING ERRCODE = 'check_violation', TABLE = 'checkout_attempt', CONSTRAINT = 'attempt_is_decided_once';
END $$;
CREATE TRIGGER attempt_is_decided_once BEFORE UPDATE ON checkout_attempt FOR EACH ROW
  -- guard(schema: an attempt that is decided stays decided): OLD.outcome IS NOT NULL AND (NEW.outcome, NEW.audit) IS DISTINCT FROM (OLD.outcome, OLD.audit) ⇒ false
  WHEN (OLD.outcome IS NOT NULL AND (NEW.outcome, NEW.audit) IS DISTINCT FROM (OLD.outcome, OLD.audit))
  EXECUTE FUNCTION attempt_is_decided_once();
CREATE TRIGGER attempt_is_not_removed BEFORE DELETE ON checkout_attempt FOR EACH ROW EXECUTE FUNCTION attempt_is_decided_once();
