-- Operators sign in to the console: how they prove who they are, and the sessions that they have.
ALTER TABLE operator
  -- Covered by the seal, as role and organisation are: whoever can only write to the database lets nobody in.
  ADD password text,
  -- The secret that their codes are made of, sealed.
  ADD totp bytea,
  ADD passkeys jsonb NOT NULL DEFAULT '[]',
  -- Whom an identity provider knows this person as, since they signed in by it for the first time.
  ADD provider_subject text,
  -- The operator of the demo, whose link signs in by itself where the demo is on.
  ADD is_demo boolean NOT NULL DEFAULT false,
  -- Not covered, since every sign-in changes it. A code works once: the step of the last one that was used.
  ADD totp_step bigint NOT NULL DEFAULT 0,
  -- How often each passkey has signed, as it counts itself, and when it was last used.
  ADD passkey_uses jsonb NOT NULL DEFAULT '{}';

CREATE TABLE operator_session (
  -- An HMAC of what the browser has.
  tag bytea PRIMARY KEY,
  id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  operator text NOT NULL REFERENCES operator,
  -- A link lets somebody in only as far as to say how they will sign in from then on.
  stage text NOT NULL CONSTRAINT stage_known CHECK (stage IN ('enrolling', 'signed_in')),
  method text NOT NULL CONSTRAINT method_known CHECK (method IN ('link', 'demo', 'passkey', 'password', 'provider')),
  address text NOT NULL,
  agent text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- At the latest. Whoever does nothing for a while is signed out before.
  ends_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- When they last proved who they are.
  proved_at timestamptz NOT NULL DEFAULT now(),
  -- An HMAC of the tag, the operator, the stage, the method and the end.
  seal bytea NOT NULL
);
CREATE INDEX operator_session_by_operator ON operator_session (operator);
CREATE INDEX operator_session_by_end ON operator_session (ends_at);

-- Attempts to sign in that have failed, or are under way. They are forgotten after an hour.
CREATE TABLE operator_attempt (
  id uuid PRIMARY KEY,
  -- Of an operator that there is; empty for a name that nobody has.
  operator text NOT NULL,
  -- An address, or the network of one.
  network text NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX operator_attempt_by_operator ON operator_attempt (operator, made_at);
CREATE INDEX operator_attempt_by_network ON operator_attempt (network, made_at);
CREATE INDEX operator_attempt_by_time ON operator_attempt (made_at);

-- Where operators have signed in from: there they get in, however many others try under their name.
CREATE TABLE operator_network (
  operator text NOT NULL REFERENCES operator,
  network text NOT NULL,
  used_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (operator, network)
);

-- Challenges that were answered, until they would not count any more: each counts once.
CREATE TABLE used_challenge (
  tag bytea PRIMARY KEY,
  until timestamptz NOT NULL
);
CREATE INDEX used_challenge_by_end ON used_challenge (until);

DO $$
BEGIN
  REVOKE ALL ON operator, operator_session, operator_attempt, operator_network, used_challenge FROM tollgate_application;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  NULL;
END $$;
