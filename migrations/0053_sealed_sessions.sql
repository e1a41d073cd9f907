-- The seal of a session has its last proof of identity and its last use from now on. Operators sign in again.
DELETE FROM operator_session;
