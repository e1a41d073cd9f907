-- Tasks that need a second person, what decides which do, who added and changed operators, and tokens for the command line.

ALTER TABLE operator ADD COLUMN history jsonb NOT NULL DEFAULT '[]';

ALTER TABLE operator_session DROP CONSTRAINT stage_known,
  ADD CONSTRAINT stage_known CHECK (stage IN ('enrolling', 'signed_in', 'command_line'));

ALTER TABLE operator_request ADD COLUMN alone_from timestamptz, DROP CONSTRAINT approved_by_another,
  ADD CONSTRAINT approved_by_another CHECK (state <> 'approved' OR decided_by <> requested_by OR alone_from <= decided_at);

CREATE TABLE task_request (
  id bigint PRIMARY KEY DEFAULT nextval('operator_request_id_seq'),
  task text NOT NULL,
  role text NOT NULL CONSTRAINT role_known CHECK (role IN ('viewer', 'operator', 'administrator')),
  scope text NOT NULL CONSTRAINT scope_known CHECK (scope IN ('organisation', 'installation', 'nobody')),
  organisation_id integer REFERENCES organisation,
  what text NOT NULL,
  digest bytea NOT NULL,
  requested_by text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  state text NOT NULL CONSTRAINT state_known CHECK (state IN ('waiting', 'approved', 'refused', 'done')),
  expires_at timestamptz NOT NULL,
  alone_from timestamptz,
  decided_by text,
  decided_at timestamptz,
  decision_reason text,
  approver_version integer,
  seal bytea NOT NULL,
  CONSTRAINT decided_by_somebody CHECK (state = 'waiting' OR decided_by IS NOT NULL),
  CONSTRAINT approved_by_another CHECK (state <> 'approved' OR decided_by <> requested_by OR alone_from <= decided_at)
);
CREATE INDEX task_request_by_digest ON task_request (digest);

CREATE TABLE approval_rules (
  only_one boolean PRIMARY KEY DEFAULT true CONSTRAINT only_one CHECK (only_one),
  above jsonb NOT NULL,
  kinds text[] NOT NULL
);

DO $$
BEGIN
  REVOKE ALL ON task_request, approval_rules FROM tollgate_application;
  REVOKE DELETE ON task_request, approval_rules FROM tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the roles tollgate_operator and tollgate_application are not there: one login may do everything';
END $$;
