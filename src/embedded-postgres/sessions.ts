// Who uses an embedded PostgreSQL: every process that opened it keeps one session, so that nobody stops it under another.
import { plainClient } from '../postgres/client.js';
import { OTHER_SESSIONS } from './server.sql.js';

export interface Presence {
  /** When the session is over, whoever has ended it. */
  readonly over: Promise<void>;
  end(): Promise<void>;
}

/** Keeps a session open until its end, or the server's. */
export async function attend(url: string): Promise<Presence> {
  const client = plainClient({ connectionString: url });
  const over = new Promise<void>((resolve) => client.once('end', resolve));
  await client.connect();
  return { over, end: () => client.end().catch(() => {}) };
}

/** A session that has ended is not counted: the server closes the connection only when it is gone. */
export async function othersAttend(url: string): Promise<boolean> {
  const client = plainClient({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query<{ others: boolean }>(OTHER_SESSIONS);
    return rows[0]?.others === true;
  } catch {
    // It does not answer: it is stopping, or nobody has any use of it.
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
