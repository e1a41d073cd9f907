// Metrics from the database for `/metrics`: read seldom, by index, with limits and a short timeout. A lost database delays no
// scrape.
import { withinDeadline } from '../../acquirers/contract.js';
import type { AcquirerLinks } from '../../acquirers/links.js';
import type { Figures } from '../../http/observability/metrics.js';
import { showCell } from '../../installation/fleet/cells.js';
import type { Queryable } from '../../postgres/database.js';
import { LATE_SCHEDULES } from '../../schedules/schedules.sql.js';
import { IN_DOUBT_FIGURES, KEY_FIGURES, LITTLE_TIME, WEBHOOK_FIGURES } from './stored-figures.sql.js';

interface InDoubtRow {
  readonly acquirer: string;
  readonly count: number;
  readonly reversing: number;
  readonly oldestSeconds: number;
}

interface WebhookRow {
  readonly delivering: number;
  readonly failing: number;
  readonly disabled: number;
  readonly failingSeconds: number | null;
  readonly waiting: number;
}

interface KeyRow {
  readonly count: number;
  readonly oldestSeconds: number | null;
}

const MOST_ROWS = 10_000;
const MOST_KEYS = 100_000;
/** A scrape waits no longer for the database. */
const PATIENCE_MS = 1_500;
/** However often they are scraped. */
const FRESH_MS = 2_000;
/** Keys age by days. */
const KEYS_FRESH_MS = 60_000;

export class StoredFigures {
  readonly #payments: CachedFigures;
  readonly #keys: CachedFigures;

  constructor(database: Queryable, links: Pick<AcquirerLinks, 'names'>) {
    this.#payments = new CachedFigures(FRESH_MS, () =>
      withShortTimeout(database, async (connection) => ({
        ...inDoubtFigures(
          (await connection.query<InDoubtRow>(IN_DOUBT_FIGURES, [MOST_ROWS])).rows,
          links.names,
        ),
        ...(await lateSchedules(connection)),
        ...webhookFigures((await connection.query<WebhookRow>(WEBHOOK_FIGURES, [MOST_ROWS])).rows[0]),
      })),
    );
    this.#keys = new CachedFigures(KEYS_FRESH_MS, () =>
      withShortTimeout(database, async (connection) => {
        const { name, number } = await showCell(connection);
        return {
          ...keyFigures((await connection.query<KeyRow>(KEY_FIGURES, [MOST_KEYS])).rows[0]),
          cell: [[[name, String(number)], 1]],
        };
      }),
    );
  }

  /** If the query fails, these metrics are omitted, and a metric says so: stale values are never shown. */
  async read(): Promise<Figures> {
    const [payments, keys] = await Promise.all([this.#payments.figures(), this.#keys.figures()]);
    const up = payments !== undefined && keys !== undefined;
    return { ...payments, ...keys, storedFiguresUp: [[[], Number(up)]] };
  }
}

/** Read once for all scrapes within a time. */
class CachedFigures {
  #figures: Figures | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<Figures> | undefined;

  constructor(
    private readonly freshMs: number,
    private readonly read: () => Promise<Figures>,
  ) {}

  async figures(): Promise<Figures | undefined> {
    if (this.#figures !== undefined && performance.now() - this.#readAtMs < this.freshMs)
      return this.#figures;
    // One at a time, even if one hangs.
    this.#reading ??= this.#readAgain();
    return withinDeadline<Figures | undefined>(
      () => this.#reading as Promise<Figures>,
      PATIENCE_MS,
      undefined,
    );
  }

  async #readAgain(): Promise<Figures> {
    try {
      // guard(metrics: what was read from a database that is away is not shown): this.#figures = undefined; ⏎ const figures = await this.read( ⇒ const before = this.#figures; ⏎ const figures = await this.read().catch(() => before as Figures
      this.#figures = undefined;
      const figures = await this.read();
      this.#figures = figures;
      this.#readAtMs = performance.now();
      return figures;
    } finally {
      this.#reading = undefined;
    }
  }
}

/** With a short statement timeout. */
function withShortTimeout(
  database: Queryable,
  read: (connection: Queryable) => Promise<Figures>,
): Promise<Figures> {
  return database.transaction(async (connection) => {
    await connection.query(LITTLE_TIME);
    return read(connection);
  });
}

/** A link with nothing in doubt reports zero. */
function inDoubtFigures(rows: readonly InDoubtRow[], links: readonly string[]): Figures {
  const byLink = new Map(rows.map((row) => [row.acquirer, row]));
  const names = [...new Set([...links, ...byLink.keys()])].sort();
  return {
    inDoubt: names.map((name) => [[name], byLink.get(name)?.count ?? 0]),
    inDoubtOldest: names.map((name) => [[name], Math.max(0, byLink.get(name)?.oldestSeconds ?? 0)]),
    reversalsUnacknowledged: names.map((name) => [[name], byLink.get(name)?.reversing ?? 0]),
  };
}

function webhookFigures(row: WebhookRow | undefined): Figures {
  if (row === undefined) return {};
  const { delivering, failing, disabled, failingSeconds, waiting } = row;
  return {
    webhookEndpoints: [
      [['delivering'], delivering],
      [['failing'], failing],
      [['disabled'], disabled],
    ],
    webhookFailingOldest: [[[], failingSeconds ?? 0]],
    webhooksWaiting: [[[], waiting]],
  };
}

async function lateSchedules(connection: Queryable): Promise<Figures> {
  const { rows } = await connection.query<{ late: number; longestSeconds: number }>(LATE_SCHEDULES, [
    MOST_ROWS,
  ]);
  return {
    schedulesLate: [[[], rows[0]?.late ?? 0]],
    scheduleDueLongest: [[[], rows[0]?.longestSeconds ?? 0]],
  };
}

function keyFigures(row: KeyRow | undefined): Figures {
  if (row === undefined) return {};
  return { dataKeys: [[[], row.count]], dataKeyOldest: [[[], row.oldestSeconds ?? 0]] };
}
