// A database that was restored may have organisations that have moved to another cell since: that cell pays for them, and this one does not
// begin again.
import { signerOf } from '../../journal/entry-signer.js';
import { journalOrganisation, lockOrganisation } from '../../organisations/sealed-organisation.js';
import type { Queryable } from '../../postgres/database.js';
import { refuse } from '../../values/refusal.js';
import {
  END_OTHER_MOVES,
  FENCE,
  MOVE_HAS_ENDED,
  PAID_BY_THIS_CELL,
  SET_RESIDENCE,
  WHICH_ARE_PAID,
} from './moves.sql.js';
import { organisationRow } from './obstacles.js';
import { FENCED } from './tables.js';

/** An organisation that another cell pays for. */
export interface PaidElsewhere {
  readonly organisation: number;
  readonly cell: string;
  /** Where its clients call. */
  readonly address: string;
  /** By which it came there, where it came from this cell. */
  readonly move: string | null;
}

/** As far as this cell knows. */
export async function paidHere(database: Queryable): Promise<readonly number[]> {
  const { rows } = await database.query<{ id: number }>(PAID_BY_THIS_CELL);
  return rows.map(({ id }) => id);
}

/** Those of `organisations` that another cell pays for, asked there. `from`: this cell. */
export async function paidThere(
  other: Queryable,
  organisations: readonly number[],
  from: string,
): Promise<readonly Pick<PaidElsewhere, 'organisation' | 'move'>[]> {
  return (
    await other.query<Pick<PaidElsewhere, 'organisation' | 'move'>>(WHICH_ARE_PAID, [organisations, from])
  ).rows;
}

/** In the commit that guards the restored database, on which nobody works yet. */
export async function leaveToOthers(
  connection: Queryable,
  actor: string,
  elsewhere: readonly PaidElsewhere[],
): Promise<void> {
  if (elsewhere.length === 0) return;
  // Without its key nothing could be sealed.
  if ((await signerOf(connection)) === undefined) refuse('organisations_left_need_key');
  for (const { organisation, cell, address, move } of elsewhere) {
    if ((await organisationRow(connection, organisation)) === undefined) continue;
    await lockOrganisation(connection, organisation);
    // guard(moved: a restored cell pays for nobody whom another cell pays for): await connection.query(SET_RESIDENCE, [organisation, 'moved', cell, address]); ⇒
    await connection.query(SET_RESIDENCE, [organisation, 'moved', cell, address]);
    await connection.query(END_OTHER_MOVES, [organisation, move]);
    if (move !== null) await connection.query(MOVE_HAS_ENDED, [move, organisation, cell, actor]);
    const detail = `to ${cell}, after the backup that was restored`;
    await journalOrganisation(connection, { actor, action: 'organisation.moved', detail }, organisation);
  }
  await connection.query(FENCE, [FENCED]);
}
