-- What operators ask for with money: voids, refunds and completions, each with a reason, and with a second person's approval where
-- one is wanted.

-- Transactions and events know an operator by the negative of this number, and a user by a positive one.
ALTER TABLE operator ADD id integer GENERATED ALWAYS AS IDENTITY CONSTRAINT operator_id_once UNIQUE;

CREATE TABLE operator_request (
  organisation_id integer NOT NULL REFERENCES organisation,
  id bigint GENERATED ALWAYS AS IDENTITY,
  merchant_id integer NOT NULL,
  target_audit integer NOT NULL,
  operation text NOT NULL CONSTRAINT operation_known CHECK (operation IN ('void', 'refund', 'completion')),
  -- What is asked for; of a void, what the target amounts to.
  amount_cents bigint NOT NULL CONSTRAINT amount_positive CHECK (amount_cents > 0),
  currency text NOT NULL,
  reason text NOT NULL,
  -- As the journal names them.
  requested_by text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  -- Made of the key of whoever asks: asked again, it is the same request, and the same transaction.
  correlation_id text NOT NULL,
  state text NOT NULL CONSTRAINT state_known CHECK (state IN ('ready', 'waiting', 'approved', 'refused', 'failed')),
  -- Until when it may be approved, and once it is, done.
  expires_at timestamptz,
  decided_by text,
  decided_at timestamptz,
  decision_reason text,
  -- Why it could not be done.
  failure text,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT request_once UNIQUE (organisation_id, correlation_id),
  CONSTRAINT waiting_ends CHECK (state NOT IN ('waiting', 'approved') OR expires_at IS NOT NULL),
  CONSTRAINT decided_by_somebody CHECK (state NOT IN ('approved', 'refused') OR decided_by IS NOT NULL),
  -- Four eyes.
  CONSTRAINT approved_by_another CHECK (state <> 'approved' OR decided_by <> requested_by)
);
CREATE INDEX operator_request_by_target ON operator_request (organisation_id, target_audit);
CREATE INDEX operator_request_by_id ON operator_request (id);
CREATE INDEX operator_request_waiting ON operator_request (requested_at) WHERE state = 'waiting';

DO $$
BEGIN
  -- Whoever serves asks for nothing, and approves nothing.
  REVOKE INSERT, UPDATE, DELETE ON operator_request FROM tollgate_application;
  REVOKE DELETE ON operator_request FROM tollgate_operator;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  NULL;
END $$;
