// In which cell an organisation lived when, as the journals of all cells say; and whether anything was done for it elsewhere.
import { CELLS, type Cell, type CellName } from './cell.js';
import { NOT_STORED } from './stored.js';

/** What was under way when a cell was closed is committed within this time, or refused. */
const FENCED_WITHIN_MS = 1_000;

interface Entry {
  readonly cell: CellName;
  readonly organisationId: number;
  readonly action: string;
  readonly atMs: number;
}

/** The cell paid for the organisation. */
interface Stay {
  readonly cell: CellName;
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Placed {
  readonly audit: number;
  readonly installation: string;
  readonly createdMs: number;
  readonly decidedMs: number | null;
}

const ENTRIES = `
  SELECT organisation_id AS "organisationId", action, extract(epoch FROM at)::float8 * 1000 AS "atMs" FROM journal
  WHERE moved_from IS NULL AND action IN ('organisation.closed', 'organisation.arrived', 'organisation.move_taken_back')
  ORDER BY id`;

const PLACED = `
  SELECT t.audit, coalesce(sent_by(t.organisation_id, t.audit), g.installation) AS installation,
    extract(epoch FROM t.created_at)::float8 * 1000 AS "createdMs", extract(epoch FROM t.decided_at)::float8 * 1000 AS "decidedMs"
  FROM transaction t, gateway g WHERE t.organisation_id = $1 AND ${NOT_STORED}`;

/** A cell that has not said that the organisation has left it, and one that does not have what another has. */
const LEFT_BEHIND = `
  SELECT audit, correlation_id AS "correlationId", status, created_at::text AS created FROM transaction
  WHERE organisation_id = $1 AND ${NOT_STORED}`;

export class Places {
  private constructor(
    private readonly cells: Readonly<Record<CellName, Cell>>,
    private readonly entries: readonly Entry[],
  ) {}

  static async read(cells: Readonly<Record<CellName, Cell>>): Promise<Places> {
    const entries: Entry[] = [];
    for (const cell of CELLS)
      for (const entry of await cells[cell].sql<Omit<Entry, 'cell'>>(ENTRIES))
        entries.push({ cell, ...entry });
    return new Places(
      cells,
      entries.sort((one, other) => one.atMs - other.atMs),
    );
  }

  /** What was begun or decided in a cell while the organisation did not live there. `first`: where it was made. */
  async doneElsewhere(organisation: number, first: CellName, home: CellName): Promise<string[]> {
    const stays = this.#stays(organisation, first);
    const rows = await this.cells[home].sql<Placed>(PLACED, [organisation]);
    return rows.flatMap(({ audit, installation, createdMs, decidedMs }) => {
      const what = `organisation ${organisation}, audit ${audit}`;
      const begun = stays.some(
        ({ cell, fromMs, untilMs }) =>
          this.cells[cell].installation === installation && createdMs >= fromMs && createdMs <= untilMs,
      );
      const decided =
        decidedMs === null ||
        stays.some(({ fromMs, untilMs }) => decidedMs >= fromMs && decidedMs <= untilMs);
      return [
        ...(begun ? [] : [`${what}: begun by ${installation} at ${createdMs}, when it did not live there`]),
        ...(decided ? [] : [`${what}: decided at ${decidedMs}, when it lived nowhere`]),
      ];
    });
  }

  /** Transactions that a former cell has, and its home does not have, or has otherwise. */
  async leftBehind(organisation: number, home: CellName): Promise<string[]> {
    type Row = { audit: number; correlationId: string; status: string; created: string };
    const there = await this.cells[home].sql<Row>(LEFT_BEHIND, [organisation]);
    const byAudit = new Map(there.map((row) => [row.audit, row]));
    const found: string[] = [];
    for (const cell of CELLS.filter((name) => name !== home))
      for (const { audit, correlationId, status, created } of await this.cells[cell].sql<Row>(LEFT_BEHIND, [
        organisation,
      ])) {
        const row = byAudit.get(audit);
        const isSame = row?.correlationId === correlationId && row.created === created;
        const isAsDecided = status === 'unknown' || row?.status === status || row?.status === 'voided';
        if (!isSame || !isAsDecided)
          found.push(
            `organisation ${organisation}, audit ${audit}: ${status} in ${cell}, ${row?.status ?? 'not there'} in ${home}`,
          );
      }
    return found;
  }

  #stays(organisation: number, first: CellName): Stay[] {
    const stays: Stay[] = [];
    let [cell, fromMs]: [CellName | undefined, number] = [first, 0];
    for (const entry of this.entries.filter(({ organisationId }) => organisationId === organisation)) {
      // The destination says of a move that was taken back that it will never open.
      const isTakenBack =
        entry.action === 'organisation.move_taken_back' && stays.at(-1)?.cell === entry.cell;
      if (entry.action === 'organisation.closed' && cell === entry.cell) {
        stays.push({ cell, fromMs, untilMs: entry.atMs + FENCED_WITHIN_MS });
        cell = undefined;
      } else if (cell === undefined && (entry.action === 'organisation.arrived' || isTakenBack)) {
        cell = entry.cell;
        fromMs = entry.atMs;
      }
    }
    if (cell !== undefined) stays.push({ cell, fromMs, untilMs: Number.POSITIVE_INFINITY });
    return stays;
  }
}
