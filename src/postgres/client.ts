// A plain session for managing the embedded server. The gateway's own work goes through a pool.
import pg from 'pg';

/** The server answered with an error. */
export const { DatabaseError } = pg;

export function plainClient(config: pg.ClientConfig): pg.Client {
  const client = new pg.Client({ ssl: false, connectionTimeoutMillis: 10_000, ...config });
  // Without a listener, a server that stops would end this process.
  client.on('error', () => {});
  return client;
}
