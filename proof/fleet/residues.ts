// What an organisation has left in the cells in which it does not live: nothing of it may change there.
import { CELLS, type Cell, type CellName } from './cell.js';

const DIGEST = `
  SELECT (SELECT count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)), 0) FROM transaction t WHERE organisation_id = $1) || ', '
    || (SELECT count(*) || ' ' || coalesce(sum(hashtextextended(e::text, 0)), 0) FROM settlement_entry e WHERE organisation_id = $1) AS digest`;

export class Residues {
  readonly changed: string[] = [];
  readonly #digests = new Map<string, string>();

  constructor(private readonly cells: Readonly<Record<CellName, Cell>>) {}

  /** As it is now, wherever it does not live. */
  async take(organisation: number, home: CellName): Promise<void> {
    for (const cell of CELLS) {
      const key = `organisation ${organisation} in cell ${cell}`;
      if (cell === home) this.#digests.delete(key);
      else this.#digests.set(key, await this.#digest(cell, organisation));
    }
  }

  /** That it is as it was. */
  async check(organisation: number): Promise<void> {
    for (const cell of CELLS) {
      const key = `organisation ${organisation} in cell ${cell}`;
      const before = this.#digests.get(key);
      if (before === undefined) continue;
      const now = await this.#digest(cell, organisation);
      if (now !== before) this.changed.push(`${key}: ${now} instead of ${before}`);
    }
  }

  async #digest(cell: CellName, organisation: number): Promise<string> {
    const [row] = await this.cells[cell].sql<{ digest: string }>(DIGEST, [organisation]);
    return row?.digest ?? '';
  }
}
