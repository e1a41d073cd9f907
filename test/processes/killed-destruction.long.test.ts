// Gateways killed while they destroy cards, or losing their database: each destruction is counted once, and nothing is left.
import { expect, test, vi } from 'vitest';
import { OLD_PURCHASES } from '../../testkit/card-reviews.js';
import { installation } from '../../testkit/cloned-installation.js';

const CARDS = 5_000;

test('gateways killed, and cut off from the database, while they destroy cards → the next gateway continues', async () => {
  const { sql, start } = await installation();
  await sql(OLD_PURCHASES, [1, 1, CARDS, '200 days', null]);
  // Enough that they are killed before they finish, however slow the machine.
  await sql(`
    CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NULL; END $$;
    CREATE TRIGGER slow BEFORE UPDATE ON transaction FOR EACH STATEMENT EXECUTE FUNCTION take_time()`);
  const counted = async () => {
    const [row] = await sql<{ gone: number; destroyed: number }>(
      `SELECT count(*) FILTER (WHERE payment_details_sealed IS NULL)::integer AS gone,
         (SELECT coalesce(sum(destroyed), 0)::integer FROM card_review) AS destroyed FROM transaction`,
    );
    return row as { gone: number; destroyed: number };
  };
  const furtherThan = (before: number) =>
    vi.waitUntil(async () => (await counted()).gone > before, { timeout: 300_000, interval: 5 });

  for (const cutOff of [false, true]) {
    const gateway = await start();
    const { gone: before } = await counted();
    await furtherThan(before);
    if (cutOff) {
      await sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      await furtherThan((await counted()).gone);
    }
    await gateway.crash();
    const { gone, destroyed } = await counted();
    expect(destroyed).toBe(gone);
    expect(gone).toBeLessThan(CARDS);
  }
  await sql('DROP TRIGGER slow ON transaction');
  await start();
  await vi.waitUntil(async () => (await counted()).gone === CARDS, { timeout: 300_000, interval: 100 });
  expect(await counted()).toEqual({ gone: CARDS, destroyed: CARDS });
});
