#!/bin/sh
# Creates the gateway's database and its logins when PostgreSQL starts for the first time. Each login has what it needs and no more:
# tollgate_owner owns the tables and migrates, tollgate_serving serves, tollgate_operating does what operators do.
set -eu
secret() { cat "${SECRETS:-/run/secrets}/$1-password"; }
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname=postgres \
  --set=owner="$(secret owner)" --set=serving="$(secret serving)" --set=operating="$(secret operating)" <<'SQL'
CREATE ROLE tollgate_application NOLOGIN;
CREATE ROLE tollgate_operator NOLOGIN;
CREATE ROLE tollgate_owner LOGIN PASSWORD :'owner';
CREATE ROLE tollgate_serving LOGIN PASSWORD :'serving';
CREATE ROLE tollgate_operating LOGIN PASSWORD :'operating';
GRANT tollgate_application, tollgate_operator TO tollgate_owner WITH ADMIN OPTION;
GRANT tollgate_application TO tollgate_serving;
GRANT tollgate_operator TO tollgate_operating;
CREATE DATABASE tollgate OWNER tollgate_owner;
SQL
