-- Operators: former passwords, when they were enabled and signed in last, and attempts counted for every name, whether or not anybody has
-- it. API users: the day of their last call. Both are for reviews of access, too.

ALTER TABLE operator
  ADD COLUMN former_passwords jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN enabled_at timestamptz,
  ADD COLUMN signed_in_at timestamptz,
  ADD COLUMN signed_in_seal bytea;

UPDATE operator SET signed_in_at = last.at
FROM (SELECT actor, max(at) AS at FROM journal WHERE action = 'operator.signed_in' GROUP BY actor) AS last
WHERE last.actor = 'operator:' || operator.name;

-- Attempts count for an hour at most.
DELETE FROM operator_attempt;
DROP INDEX operator_attempt_by_operator;
ALTER TABLE operator_attempt DROP COLUMN operator, ADD COLUMN name_tag bytea NOT NULL;
CREATE INDEX operator_attempt_by_name ON operator_attempt (name_tag, made_at);

ALTER TABLE gateway_user ADD COLUMN used_on date;
DO $$
BEGIN
  GRANT UPDATE (used_on) ON gateway_user TO tollgate_application;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  NULL;
END $$;

CREATE INDEX journal_of_access ON journal (id) WHERE action IN ('operator.added', 'user.added', 'operator.reviewed');
