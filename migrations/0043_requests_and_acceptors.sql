-- What operators ask for is carried out by the gateways that run: one takes a request for a while, another goes on should that one die.

-- Those that were done have their transactions. The others were not, and are not any more.
UPDATE operator_request SET expires_at = requested_at WHERE state = 'ready';

ALTER TABLE operator_request
  DROP CONSTRAINT state_known,
  ADD CONSTRAINT state_known CHECK (state IN ('ready', 'waiting', 'approved', 'refused', 'failed', 'done')),
  DROP CONSTRAINT waiting_ends,
  -- Nothing is carried out long after it was asked for.
  ADD CONSTRAINT open_ends CHECK (state NOT IN ('ready', 'waiting', 'approved') OR expires_at IS NOT NULL),
  -- Where it was asked for from, for the journal.
  ADD address text,
  -- The operators as they were when their rights were checked: one that was changed since is asked again. Empty for an account of the system.
  ADD requester_version integer,
  ADD approver_version integer,
  -- Under a key that is not in the database: a request that was made up or changed there is not carried out.
  ADD seal bytea,
  -- Until then it belongs to the gateway that has taken it.
  ADD taken_until timestamptz;

CREATE INDEX operator_request_to_take ON operator_request (expires_at) WHERE state IN ('ready', 'approved');

DO $$
BEGIN
  GRANT UPDATE (state, failure, taken_until) ON operator_request TO tollgate_application;
  -- Nothing of how operators sign in.
  GRANT SELECT (id, name, version, removed_at) ON operator TO tollgate_application;
EXCEPTION WHEN undefined_object OR insufficient_privilege THEN
  NULL;
END $$;
