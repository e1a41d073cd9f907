-- A session is sealed with when it was in use and when it was proved, too: operators sign in again. The journal seals requests for tasks,
-- at every step: what waited is asked for again, and the journal has what was done.

DELETE FROM operator_session;
DELETE FROM task_request;
ALTER TABLE task_request DROP COLUMN seal;
