-- Operators: who they are, how they sign in to the console, and what they ask for with money.

-- Operators are people. What they may do, their sign-in link and that they are still operators is sealed like a user.
CREATE TABLE operator (
  name text PRIMARY KEY,
  role text NOT NULL CONSTRAINT role_known CHECK (role IN ('viewer', 'operator', 'administrator')),
  -- Empty: of the whole installation.
  organisation_id integer REFERENCES organisation,
  -- Of the link by which they sign in for the first time, once.
  link_tag bytea,
  link_until timestamptz,
  version integer NOT NULL DEFAULT 0,
  seal bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz,
  -- Operators sign in to the console: how they prove who they are, and the sessions that they have.
  -- Covered by the seal, as role and organisation are: whoever can only write to the database lets nobody in.
  password text,
  -- The secret that their codes are made of, sealed.
  totp bytea,
  passkeys jsonb NOT NULL DEFAULT '[]',
  -- Whom an identity provider knows this person as, since they signed in by it for the first time.
  provider_subject text,
  -- The operator of the demo, whose link signs in by itself where the demo is on.
  is_demo boolean NOT NULL DEFAULT false,
  -- Not covered, since every sign-in changes it. A code works once: the step of the last one that was used.
  totp_step bigint NOT NULL DEFAULT 0,
  -- How often each passkey has signed, as it counts itself, and when it was last used.
  passkey_uses jsonb NOT NULL DEFAULT '{}',
  -- Transactions and events know an operator by the negative of this number, and a user by a positive one.
  id integer GENERATED ALWAYS AS IDENTITY CONSTRAINT operator_id_once UNIQUE,
  -- Who else added this person, made links for them or changed them: covered by the seal. Somebody who was is no second person to them.
  history jsonb NOT NULL DEFAULT '[]',
  -- The last passwords, the newest first, so that they are not set again. Covered by the seal.
  former_passwords jsonb NOT NULL DEFAULT '[]',
  -- When the operator was added, or enabled again. Covered by the seal. Empty for those who were added before this was recorded.
  enabled_at timestamptz,
  -- The last sign-in, with a seal of its own. An operator who has not signed in for 90 days is disabled.
  signed_in_at timestamptz,
  signed_in_seal bytea,
  CONSTRAINT link_ends CHECK ((link_tag IS NULL) = (link_until IS NULL))
);

CREATE TABLE operator_session (
  -- An HMAC of what the browser has.
  tag bytea PRIMARY KEY,
  id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  operator text NOT NULL REFERENCES operator,
  -- A link lets somebody in only as far as to say how they will sign in from then on. A token of the command line opens no console.
  stage text NOT NULL CONSTRAINT stage_known CHECK (stage IN ('enrolling', 'signed_in', 'command_line')),
  method text NOT NULL CONSTRAINT method_known CHECK (method IN ('link', 'demo', 'passkey', 'password', 'provider')),
  address text NOT NULL,
  agent text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- At the latest. Whoever does nothing for a while is signed out before.
  ends_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- When they last proved who they are.
  proved_at timestamptz NOT NULL DEFAULT now(),
  -- An HMAC of everything that is said of the session but its ID and when it began.
  seal bytea NOT NULL
);
CREATE INDEX operator_session_by_operator ON operator_session (operator);
CREATE INDEX operator_session_by_end ON operator_session (ends_at);

-- Attempts to sign in that have failed, or are under way. They are forgotten after an hour.
CREATE TABLE operator_attempt (
  id uuid PRIMARY KEY,
  -- An address, or the network of one, or a device on which this operator has signed in.
  network text NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  -- An HMAC of the name that was typed, whether or not anybody has it. It may be a password.
  name_tag bytea NOT NULL
);
CREATE INDEX operator_attempt_by_name ON operator_attempt (name_tag, made_at);
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
  state text NOT NULL CONSTRAINT state_known CHECK (state IN ('ready', 'waiting', 'approved', 'refused', 'failed', 'done')),
  -- Until when it may be approved, and once it is, done.
  expires_at timestamptz,
  decided_by text,
  decided_at timestamptz,
  decision_reason text,
  -- Why it could not be done.
  failure text,
  -- Where it was asked for from, for the journal.
  address text,
  -- The operators as they were when their rights were checked: one that was changed since is asked again. Empty for an account of the system.
  requester_version integer,
  approver_version integer,
  -- Under a key that is not in the database: a request that was made up or changed there is not carried out.
  seal bytea,
  -- Until then it belongs to the gateway that has taken it.
  taken_until timestamptz,
  -- From then on whoever asked may approve it: nobody else could when it was asked for. Covered by the seal.
  alone_from timestamptz,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT request_once UNIQUE (organisation_id, correlation_id),
  CONSTRAINT decided_by_somebody CHECK (state NOT IN ('approved', 'refused') OR decided_by IS NOT NULL),
  -- Four eyes.
  CONSTRAINT approved_by_another CHECK (state <> 'approved' OR decided_by <> requested_by OR alone_from <= decided_at),
  -- Nothing is carried out long after it was asked for.
  CONSTRAINT open_ends CHECK (state NOT IN ('ready', 'waiting', 'approved') OR expires_at IS NOT NULL)
);
CREATE INDEX operator_request_by_target ON operator_request (organisation_id, target_audit);
CREATE INDEX operator_request_by_id ON operator_request (id);
CREATE INDEX operator_request_waiting ON operator_request (requested_at) WHERE state = 'waiting';
CREATE INDEX operator_request_to_take ON operator_request (expires_at) WHERE state IN ('ready', 'approved');

-- Tasks that wait for a second person. Once it is approved, whoever asked does the very same again, once, within the hour. The journal
-- seals each step.
CREATE TABLE task_request (
  -- Counted together with the requests above: `approval approve` takes either.
  id bigint PRIMARY KEY DEFAULT nextval('operator_request_id_seq'),
  -- The words of its command, and who may do it.
  task text NOT NULL,
  role text NOT NULL CONSTRAINT role_known CHECK (role IN ('viewer', 'operator', 'administrator')),
  scope text NOT NULL CONSTRAINT scope_known CHECK (scope IN ('organisation', 'installation', 'nobody')),
  -- That it concerns; empty: the whole installation.
  organisation_id integer REFERENCES organisation,
  -- The command with everything that was given, for people. What a file holds is not in it.
  what text NOT NULL,
  -- An HMAC of the task, of whoever asks and of everything that was given: it approves this and nothing else.
  digest bytea NOT NULL,
  requested_by text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  state text NOT NULL CONSTRAINT state_known CHECK (state IN ('waiting', 'approved', 'refused', 'done')),
  -- Until when it may be approved, and once it is, done.
  expires_at timestamptz NOT NULL,
  alone_from timestamptz,
  decided_by text,
  decided_at timestamptz,
  decision_reason text,
  -- The operator who approved it, as they were then.
  approver_version integer,
  CONSTRAINT decided_by_somebody CHECK (state = 'waiting' OR decided_by IS NOT NULL),
  CONSTRAINT approved_by_another CHECK (state <> 'approved' OR decided_by <> requested_by OR alone_from <= decided_at)
);
CREATE INDEX task_request_by_digest ON task_request (digest);

-- What needs a second person: one row, once somebody has set it. The journal seals it.
CREATE TABLE approval_rules (
  only_one boolean PRIMARY KEY DEFAULT true CONSTRAINT only_one CHECK (only_one),
  -- Of each currency, the amount in its smallest unit above which money needs one. A currency that is not named needs one for any amount.
  above jsonb NOT NULL,
  -- Kinds of tasks that need one.
  kinds text[] NOT NULL
);
