// A test worker's session for creating and dropping its databases. There are hundreds: each would take two sessions of its own.
import pg from 'pg';

let kept: Promise<pg.Client> | undefined;

/** As `administer`, for one server only. */
export async function administerHere(adminUrl: string, statement: string): Promise<void> {
  kept ??= open(adminUrl);
  const client = await kept;
  await client.query(statement);
}

async function open(url: string): Promise<pg.Client> {
  const forget = () => {
    kept = undefined;
  };
  const client = new pg.Client({ connectionString: url });
  client.on('error', forget);
  client.on('end', forget);
  try {
    await client.connect();
  } catch (error) {
    forget();
    throw error;
  }
  // The worker ends when it is told to, with this or without.
  (client as unknown as { unref(): void }).unref();
  return client;
}
