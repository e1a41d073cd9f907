// The review of sealed cards: lets a test wait for it, and shows which transactions still have a card.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import type { Clock } from '../src/clock/clock.js';
import { CardDestruction, type CardDestructionEvents } from '../src/payments/cards/card-destruction.js';
import { CARD_DESTRUCTION_LOCK } from '../src/payments/cards/card-destruction.sql.js';
import { Database } from '../src/postgres/database.js';
import type { Answer } from './client.js';
import type { TestGateway } from './gateway.js';
import { locker } from './locks.js';

type OnDatabase = Pick<TestGateway, 'sql'>;

/** Has every merchant's cards reviewed now. */
async function begin({ sql }: OnDatabase): Promise<void> {
  // The merchants' rows are created when a gateway starts.
  await vi.waitFor(async () => expect(await sql('SELECT FROM card_review LIMIT 1')).toHaveLength(1), {
    timeout: 300_000,
  });
  await sql(`UPDATE card_review SET next_at = '-infinity'`);
}

const due = ({ sql }: OnDatabase) => sql('SELECT FROM card_review WHERE next_at <= gateway_now()');

/** Waits until the gateway has reviewed every merchant's cards. */
export async function reviewed(gateway: OnDatabase): Promise<void> {
  await begin(gateway);
  await vi.waitFor(async () => expect(await due(gateway)).toEqual([]), { timeout: 300_000, interval: 25 });
}

/** Fails the test on any failure. Uses the gateway's clock unless another is given. */
export function destructionOn(
  database: Database,
  aheadMs = 0,
  events: Partial<CardDestructionEvents> = {},
): CardDestruction {
  return new CardDestruction(database, { now: () => Date.now() + aheadMs } as Clock, {
    onFailed: (_, error) => {
      throw error;
    },
    onBehind: () => {},
    onClocksApart: () => {},
    onClockJumped: () => {},
    ...events,
  });
}

/** The same, but also reviews here: the gateway does so only once a second. */
export async function reviewedAtOnce(gateway: Pick<TestGateway, 'sql' | 'databaseUrl'>): Promise<void> {
  const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
  const [{ advanced }] = (await gateway.sql('SELECT advanced_ms::float8 AS advanced FROM gateway')) as [
    { advanced: number },
  ];
  const destruction = destructionOn(database, advanced);
  try {
    await begin(gateway);
    while ((await due(gateway)).length > 0) {
      await destruction.run();
      // The gateway may hold the lock now.
      await sleep(5);
    }
  } finally {
    await database.close();
  }
}

/**
 * Keeps the gateway from reviewing cards until released, or the test ends. A card locked at that moment is not destroyed at
 * once, and the gateway itself may hold the lock.
 */
export async function unreviewed(gateway: Pick<TestGateway, 'databaseUrl'>): Promise<() => Promise<void>> {
  const { query, rollback } = await locker(gateway);
  await query(`SELECT pg_advisory_xact_lock(${CARD_DESTRUCTION_LOCK})`);
  return rollback;
}

export const auditOf = ({ body }: Answer): number => body.audit;

/** Audits under names, and the names of those that still have their card. */
export function watchedCards(gateway: OnDatabase) {
  const audits = new Map<string, number>();
  return {
    add: (name: string, answer: Answer) => {
      expect([name, answer.status]).toEqual([name, 201]);
      audits.set(name, auditOf(answer));
      return auditOf(answer);
    },
    of: (name: string) => audits.get(name) as number,
    alive: async () => {
      const names: string[] = [];
      for (const [name, audit] of audits) if (await hasCard(gateway, audit)) names.push(name);
      return names;
    },
  };
}

/** Of a merchant in its organisation, so many, so old, with a token: approved, and settled. */
export const OLD_PURCHASES = `
  INSERT INTO transaction (organisation_id, merchant_id, audit, created_at, voidable_until, amount_cents, gateway_status_code,
    transaction_type, status, currency, correlation_id, reference, acquirer, card_mask, card_type, decided_at, token_id,
    payment_details_key_version, payment_details_sealed)
  SELECT $1::integer, $2::integer, 1000000 + n, now() - $4::interval, now() - $4::interval, 100, 0, 'purchase', 'approved', 'AUD', 'old-' || n,
    'old', 'simulator', '411111******1111', 'visa', now() - $4::interval, $5::integer, 1, '\\x01'
  FROM generate_series(1, $3::integer) n`;

export async function hasCard({ sql }: OnDatabase, audit: number, organisation = 1): Promise<boolean> {
  const rows = await sql<{ sealed: boolean; keyed: boolean }>(
    `SELECT payment_details_sealed IS NOT NULL AS sealed, payment_details_key_version IS NOT NULL AS keyed FROM transaction
     WHERE organisation_id = $1 AND audit = $2`,
    [organisation, audit],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no transaction ${audit}`);
  expect(row.keyed).toBe(row.sealed);
  return row.sealed;
}
