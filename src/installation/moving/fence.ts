// The fence: triggers by which a cell's database refuses every write for organisations that are elsewhere.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, isDeadlock, isLockTimeout, type Queryable } from '../../postgres/database.js';
import { refuse } from '../../values/refusal.js';
import { passingFence } from './copying.js';
import { FENCE, NOBODY_IS_ELSEWHERE, WAIT_BRIEFLY } from './moves.sql.js';
import { dropFence } from './table-statements.js';
import { FENCED } from './tables.js';

/** So often it is tried to wait for whoever writes. */
const FENCE_ATTEMPTS = 60;
const FENCE_PAUSE_MS = 250;

/** Something of the organisation is still under way. */
export class UnderWay extends Error {}

/**
 * A transaction that changes where the organisation is, with the triggers that keep others from writing. They wait for whoever writes at
 * the moment, and everybody waits behind them: so they give up soon, and try again. What `work` returns is done behind the fence.
 */
export async function fencing(
  database: Database,
  organisation: number,
  work: (connection: Queryable) => Promise<(() => Promise<void>) | void>,
  fenced: readonly string[] = FENCED,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await passingFence(database, organisation, async (connection) => {
        await connection.query(WAIT_BRIEFLY);
        const behind = await work(connection);
        await connection.query(FENCE, [fenced]);
        await behind?.();
      });
    } catch (error) {
      const isBusy = isLockTimeout(error) || isDeadlock(error) || error instanceof UnderWay;
      if (!isBusy) throw error;
      if (attempt === FENCE_ATTEMPTS) refuse('organisation_cannot_be_fenced', { organisation });
      await sleep(FENCE_PAUSE_MS * (0.5 + Math.random()));
    }
  }
}

/** Where nobody is elsewhere any more nothing is left of it. If somebody reads just then, the triggers stay, and do nothing. */
export async function dropIdleFence(database: Database): Promise<void> {
  const { rows } = await database.query<{ nobody: boolean }>(NOBODY_IS_ELSEWHERE);
  if (!rows[0]?.nobody) return;
  for (const table of FENCED)
    await database
      .transaction(async (connection) => {
        await connection.query(WAIT_BRIEFLY);
        await connection.query(dropFence(table));
      })
      .catch((error: unknown) => {
        if (!isLockTimeout(error) && !isDeadlock(error)) throw error;
      });
}
