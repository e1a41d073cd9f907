// Holds locks in the database, so that a test can examine what waits for them.
import pg from 'pg';
import { onTestFinished, vi } from 'vitest';
import type { TestGateway } from './gateway.js';

export interface Locker {
  /** In the open transaction: its locks stay. */
  query(text: string, values?: unknown[]): Promise<pg.QueryResult>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** A concurrent transaction. It is rolled back when the test ends, unless committed. */
export async function locker({ databaseUrl }: Pick<TestGateway, 'databaseUrl'>): Promise<Locker> {
  const connection = new pg.Client({ connectionString: databaseUrl });
  // The database may be dropped under it.
  connection.on('error', () => {});
  await connection.connect();
  onTestFinished(() => connection.end());
  await connection.query('BEGIN');
  return {
    query: (text, values) => connection.query(text, values),
    commit: async () => void (await connection.query('COMMIT')),
    rollback: async () => void (await connection.query('ROLLBACK')),
  };
}

/** The processes of PostgreSQL that wait for a lock in this database. */
export async function waitingForLocks({ sql }: Pick<TestGateway, 'sql'>): Promise<number[]> {
  const rows = await sql<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.map(({ pid }) => pid);
}

/** Waits until a statement waits for a lock, and returns which process of PostgreSQL that is. */
export function somebodyWaits(gateway: Pick<TestGateway, 'sql'>): Promise<number> {
  return vi.waitUntil(async () => (await waitingForLocks(gateway))[0], { timeout: 300_000 });
}
