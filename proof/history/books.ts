// The books of everybody in the end: the acquirer's, the gateway's transactions, its events, webhooks and settlement entries. To the cent.
import { setTimeout as sleep } from 'node:timers/promises';
import { differences, type StoredTransaction } from '../../testkit/books.js';
import type { Installation } from '../../testkit/installation.js';
import type { Entry } from '../../testkit/iso8583-host/ledger.js';
import type { IsoAcquirer } from '../arena/iso-acquirer.js';
import { SentNumbers } from '../arena/sent-numbers.js';
import { settledOf, TRADED_TRANSACTIONS, type TradedTransaction } from '../arena/settlement-books.js';
import type { Broken } from '../arena/verdict.js';

const AGREEMENT_LIMIT_MS = 60_000;
/** A gateway that stands still for so long, and is killed then, has read nothing. */
const UNTOLD_MS = 8_000;
const REVERSALS = 'SELECT reference, unseen, row_to_json(r)::text AS words FROM acquirer_reversal r';
const ENTRIES = `
  SELECT audit, amount_cents::float8 AS "cents", settlement_date::text AS day FROM settlement_entry
  WHERE acquirer = $1 ORDER BY audit`;

export interface BooksOptions {
  readonly installation: Installation;
  readonly acquirer: IsoAcquirer;
}

export interface EndOfBooks {
  readonly broken: Broken;
  /** Charged after the reversal was answered with 25, with nobody there to be told: the gateway lists it as unseen. */
  readonly unseen: readonly string[];
}

/** Once they agree, or when the time is up: what was charged late has to be reversed first. */
export async function brokenBooks({ installation, acquirer }: BooksOptions): Promise<EndOfBooks> {
  const untilMs = performance.now() + AGREEMENT_LIMIT_MS;
  for (;;) {
    const rows = await overLink(installation, acquirer);
    const { wrong, unseen } = await wrongCharges(rows, { installation, acquirer });
    const open = await acquirer.unacknowledgedReversals();
    if (wrong.length + open.length === 0 || performance.now() > untilMs) {
      const broken = {
        'nothing is charged that the gateway does not say, and everything that it says': wrong,
        'every reversal is acknowledged': open,
        'what settles is what was charged': await wrongSettlement({ installation, acquirer }, rows),
        'no STAN and no reference is used twice': await acquirer.wrongNumbers(),
        'the host has nothing to complain of': await acquirer.complaints(),
      };
      return { broken, unseen };
    }
    await sleep(500);
  }
}

async function overLink(installation: Installation, acquirer: IsoAcquirer): Promise<StoredTransaction[]> {
  const stored = await installation.sql<{ audit: number }>(
    'SELECT audit FROM transaction WHERE acquirer = $1',
    [acquirer.name],
  );
  const audits = new Set(stored.map(({ audit }) => audit));
  return (await installation.transactions()).filter(({ audit }) => audits.has(audit));
}

async function wrongCharges(
  rows: readonly StoredTransaction[],
  { installation, acquirer }: BooksOptions,
): Promise<{ wrong: string[]; unseen: string[] }> {
  const byReference = new Map(rows.map((row) => [row.acquirerReference, row]));
  const sent = await SentNumbers.read(installation);
  const reversals = await installation.sql<{ reference: string; unseen: boolean; words: string }>(REVERSALS);
  const ledger = acquirer.host.entries();
  const untold = keysWithoutListener(ledger);
  const found = differences(rows, await acquirer.entries(rows)).map((difference) => {
    const row = byReference.get(difference.split(':')[0] as string);
    const words = `${difference}; audit ${row?.audit}, ${row?.type}, is ${row?.status}, code ${row?.gatewayStatusCode}`;
    const reversal = reversals.find(({ reference }) => reference === row?.acquirerReference);
    const key = sent.keyOf(row?.audit ?? 0) ?? '';
    const story = [reversal?.words, ...storyOf(key, ledger)].join('\n    ');
    return {
      words: `${words}\n    ${story}`,
      isUnseen: reversal?.unseen === true && untold.has(key),
    };
  });
  return {
    wrong: found.filter(({ isUnseen }) => !isUnseen).map(({ words }) => words),
    unseen: found.filter(({ isUnseen }) => isUnseen).map(({ words }) => words),
  };
}

/** What the host has written down about one payment. */
function storyOf(key: string, entries: readonly Entry[]): string[] {
  const about = entries.filter(
    (entry) => ('key' in entry && entry.key === key) || ('original' in entry && entry.original === key),
  );
  const connections = new Set(about.flatMap((entry) => ('connection' in entry ? [entry.connection] : [])));
  return entries
    .filter(
      (entry) =>
        about.includes(entry) || (entry.kind === 'connection closed' && connections.has(entry.connection)),
    )
    .map((entry) => JSON.stringify(entry));
}

/** What was decided and not answered, or shortly before its connection ended: the answer may have come to nobody. */
function keysWithoutListener(entries: readonly Entry[]): Set<string> {
  const closedAtMs = new Map(
    entries.flatMap((entry) => (entry.kind === 'connection closed' ? [[entry.connection, entry.atMs]] : [])),
  );
  return new Set(
    entries.flatMap((entry) => {
      if (entry.kind !== 'decided') return [];
      if (entry.fault === 'lost answer') return [entry.key];
      const endMs = closedAtMs.get(entry.connection);
      return endMs !== undefined && endMs - entry.atMs < UNTOLD_MS ? [entry.key] : [];
    }),
  );
}

/** By transaction and day, against transactions and the host's ledger. */
async function wrongSettlement(
  { installation, acquirer }: BooksOptions,
  rows: readonly StoredTransaction[],
): Promise<string[]> {
  const traded = (await installation.sql<TradedTransaction>(TRADED_TRANSACTIONS)).filter(
    (row) => row.acquirer === acquirer.name,
  );
  const auditOf = new Map(traded.map(({ reference, audit }) => [reference, audit]));
  const inWords = (audit: number | undefined, cents: number, day: string) =>
    `audit ${audit}: ${cents} on ${day}`;
  const expected = settledOf(traded, await acquirer.entries(rows)).map(({ reference, cents, day }) =>
    inWords(auditOf.get(reference), cents, day),
  );
  const entries = await installation.sql<{ audit: number; cents: number; day: string }>(ENTRIES, [
    acquirer.name,
  ]);
  const found = entries.map(({ audit, cents, day }) => inWords(audit, cents, day));
  return [
    ...expected.filter((one) => !found.includes(one)).map((one) => `${one} is no entry`),
    ...found.filter((one) => !expected.includes(one)).map((one) => `${one} is an entry, and should not be`),
    ...(found.length === new Set(found).size ? [] : ['an entry stands twice']),
  ];
}
