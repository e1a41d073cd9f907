// Which processes use an embedded PostgreSQL: each keeps one session open, so that no process stops the server while another uses it.
import { plainClient } from '../postgres/client.js';
import { OTHER_SESSIONS } from './server.sql.js';

export interface ServerSession {
  /** Resolves when the session has ended, for whatever reason. */
  readonly over: Promise<void>;
  end(): Promise<void>;
}

/** Keeps a session open until `end` is called, or the server stops. */
export async function openSession(url: string): Promise<ServerSession> {
  const client = plainClient({ connectionString: url });
  const over = new Promise<void>((resolve) => client.once('end', resolve));
  await client.connect();
  return { over, end: () => client.end().catch(() => {}) };
}

/** Does not count a session that has ended: the server closes a connection only after its session is gone. */
export async function isUsedByOthers(url: string): Promise<boolean> {
  const client = plainClient({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query<{ others: boolean }>(OTHER_SESSIONS);
    return rows[0]?.others === true;
  } catch {
    // The server does not answer: it is stopping, or nobody can use it.
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
