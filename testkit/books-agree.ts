// The books at the end of a test: gateway and acquirer agree, and every reservation belongs to an operation.
import { expect, vi } from 'vitest';
import type { LedgerEntry } from '../src/acquirers/simulator/ledger.js';
import {
  askedAgain,
  differences,
  STORED_TRANSACTIONS,
  type StoredTransaction,
  WRONG_EVENTS,
  wrongReservations,
} from './books.js';
import type { TestGateway } from './gateway.js';

function storedTransactions({ sql }: Pick<TestGateway, 'sql'>): Promise<StoredTransaction[]> {
  return sql(STORED_TRANSACTIONS, [null]);
}

/** Every reserved amount belongs to live operations, and vice versa. */
export async function expectReservationsToBeHeld(gateway: Pick<TestGateway, 'sql'>): Promise<void> {
  expect(wrongReservations(await storedTransactions(gateway))).toEqual([]);
}

/**
 * Waits until everything is decided. Then expects that gateway and acquirer agree to the cent, every reservation belongs to an
 * operation, the events match each transaction's status, and nothing was asked for twice.
 */
export async function expectBooksToAgree(
  gateway: Pick<TestGateway, 'sql' | 'ledger'>,
  readEntries: () => Promise<readonly LedgerEntry[]> = gateway.ledger,
): Promise<void> {
  const inDoubt = () => gateway.sql(`SELECT audit FROM transaction WHERE status = 'unknown'`);
  await vi.waitFor(async () => expect(await inDoubt()).toEqual([]), { timeout: 300_000 });
  const entries = await readEntries();
  expect(entries.length).toBeGreaterThan(0);
  expect(differences(await storedTransactions(gateway), entries)).toEqual([]);
  await expectReservationsToBeHeld(gateway);
  expect(await gateway.sql(WRONG_EVENTS)).toEqual([]);
  expect(askedAgain(entries)).toEqual([]);
}
