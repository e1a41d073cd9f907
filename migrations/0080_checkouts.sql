-- Checkouts: what payers are asked to pay on a page of the gateway, their attempts, and cards for one payment.

ALTER TABLE organisation ADD next_checkout bigint NOT NULL DEFAULT 1 CHECK (next_checkout BETWEEN 1 AND 2147483648);

CREATE TABLE one_time_card (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  virtual_pan text COLLATE "C" NOT NULL,
  expires_at timestamptz NOT NULL,
  key_version integer NOT NULL,
  sealed bytea NOT NULL,
  taken_by text COLLATE "C",
  PRIMARY KEY (organisation_id, virtual_pan),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX one_time_card_to_forget ON one_time_card (expires_at);

CREATE TABLE checkout (
  organisation_id integer NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  merchant_id integer NOT NULL,
  id text COLLATE "C" NOT NULL CONSTRAINT checkout_id_once UNIQUE,
  correlation_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  attempts_allowed smallint NOT NULL CHECK (attempts_allowed BETWEEN 1 AND 10),
  terms json NOT NULL,
  seal bytea NOT NULL,
  user_id integer,
  status text NOT NULL DEFAULT 'open' CONSTRAINT checkout_status_known CHECK (status IN ('open', 'complete', 'expired', 'cancelled')),
  attempts smallint NOT NULL DEFAULT 0,
  attempt_until timestamptz,
  result_audit integer,
  result_virtual_pan text COLLATE "C",
  PRIMARY KEY (organisation_id, number),
  CONSTRAINT checkout_correlation_id_once UNIQUE (organisation_id, merchant_id, correlation_id),
  CONSTRAINT checkout_attempts_allowed CHECK (attempts BETWEEN 0 AND attempts_allowed),
  CONSTRAINT complete_has_a_result CHECK ((status = 'complete') = (num_nonnulls(result_audit, result_virtual_pan) = 1)),
  CONSTRAINT nothing_under_way_at_the_end CHECK (status = 'open' OR attempt_until IS NULL),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX checkout_to_expire ON checkout (expires_at) WHERE status = 'open';
CREATE INDEX checkout_under_way ON checkout (attempt_until) WHERE attempt_until IS NOT NULL;

CREATE FUNCTION checkout_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a checkout that has ended stays as it ended, no attempt of it is forgotten, and what it asks for does not change'
    USING ERRCODE = 'check_violation', TABLE = 'checkout', CONSTRAINT = 'checkout_is_kept';
END $$;
CREATE TRIGGER checkout_is_kept BEFORE UPDATE ON checkout FOR EACH ROW
  WHEN ((OLD.status <> 'open' AND NEW.status <> OLD.status) OR NEW.attempts < OLD.attempts OR NEW.terms::text <> OLD.terms::text
    OR NEW.id <> OLD.id OR NEW.merchant_id <> OLD.merchant_id)
  EXECUTE FUNCTION checkout_is_kept();
CREATE TRIGGER checkout_is_not_removed BEFORE DELETE ON checkout FOR EACH ROW EXECUTE FUNCTION checkout_is_kept();

CREATE TABLE checkout_attempt (
  organisation_id integer NOT NULL,
  checkout integer NOT NULL,
  n smallint NOT NULL CHECK (n > 0),
  claimed_at timestamptz NOT NULL,
  outcome text CONSTRAINT attempt_outcome_known CHECK (outcome IN ('paid', 'not paid')),
  audit integer,
  PRIMARY KEY (organisation_id, checkout, n),
  FOREIGN KEY (organisation_id, checkout) REFERENCES checkout (organisation_id, number)
);
CREATE UNIQUE INDEX checkout_pays_once ON checkout_attempt (organisation_id, checkout) WHERE outcome IS NULL OR outcome = 'paid';

CREATE FUNCTION attempt_is_decided_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an attempt that is decided stays decided'
    USING ERRCODE = 'check_violation', TABLE = 'checkout_attempt', CONSTRAINT = 'attempt_is_decided_once';
END $$;
CREATE TRIGGER attempt_is_decided_once BEFORE UPDATE ON checkout_attempt FOR EACH ROW
  WHEN (OLD.outcome IS NOT NULL AND (NEW.outcome, NEW.audit) IS DISTINCT FROM (OLD.outcome, OLD.audit))
  EXECUTE FUNCTION attempt_is_decided_once();
CREATE TRIGGER attempt_is_not_removed BEFORE DELETE ON checkout_attempt FOR EACH ROW EXECUTE FUNCTION attempt_is_decided_once();

DO $$
BEGIN
  GRANT UPDATE (next_checkout) ON organisation TO tollgate_application;
  REVOKE UPDATE, DELETE ON checkout, checkout_attempt FROM tollgate_application, tollgate_operator;
  GRANT UPDATE (status, attempts, attempt_until, result_audit, result_virtual_pan) ON checkout TO tollgate_application;
  GRANT UPDATE (status) ON checkout TO tollgate_operator;
  GRANT UPDATE (outcome, audit) ON checkout_attempt TO tollgate_application;
  REVOKE INSERT ON checkout_attempt FROM tollgate_operator;
  REVOKE ALL ON one_time_card FROM tollgate_operator;
  GRANT SELECT (organisation_id, merchant_id, key_version) ON one_time_card TO tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the rights of the roles tollgate_operator and tollgate_application on checkouts could not be set';
END $$;
