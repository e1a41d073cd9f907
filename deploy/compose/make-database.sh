#!/bin/sh
# Creates the gateway's role and database when PostgreSQL starts for the first time. The role owns its database and nothing else.
# It may create roles, because the schema has a role for the gateway that cannot change the journal.
set -eu
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname=postgres \
  --set=password="$(cat "${PASSWORD_FILE:-/run/secrets/database-password}")" <<'SQL'
CREATE ROLE tollgate LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE tollgate OWNER tollgate;
SQL
