import type { Statement } from './database.js';

export const LOCK_SCHEMA: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(7046029254386353131)`,
};

export const MIGRATION_TABLE = `
  CREATE TABLE IF NOT EXISTS schema_migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`;

export const APPLIED_MIGRATIONS: Statement = {
  name: 'applied-migrations',
  text: `SELECT version, name, checksum FROM schema_migration ORDER BY version`,
};

export const RECORD_MIGRATION: Statement = {
  name: '',
  text: `INSERT INTO schema_migration (version, name, checksum) VALUES ($1, $2, $3)`,
};
