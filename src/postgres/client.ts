// One plain session, for the embedded server's own affairs. Whatever a gateway does goes through a pool.
import pg from 'pg';

/** PostgreSQL answered, and refused. */
export const { DatabaseError } = pg;

export function plainClient(config: pg.ClientConfig): pg.Client {
  const client = new pg.Client({ ssl: false, connectionTimeoutMillis: 10_000, ...config });
  // Without a listener a server that stops would end the process.
  client.on('error', () => {});
  return client;
}
