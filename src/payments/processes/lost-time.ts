// Lost time: a database that has gone back, to a backup or to a standby that lacked commits, is missing recent payments. The
// loss is noted in the database. Until an operator has reconciled that time, no client is told that a transaction does not
// exist.
import { signerOf } from '../../journal/entry-signer.js';
import { journal } from '../../journal/journal.js';
import type { Queryable } from '../../postgres/database.js';
import {
  FORGET_LOST_TIME,
  LOST_TIME,
  LOST_TIME_UNJOURNALLED,
  NOTE_LOST_TIME,
  TAKE_UNJOURNALLED,
} from './restored.sql.js';

export interface LostTime {
  readonly fromMs: number;
  readonly untilMs: number;
}

export async function lostTime(database: Queryable): Promise<LostTime | undefined> {
  return (await database.query<LostTime>(LOST_TIME)).rows[0];
}

/** A process has found that the database went back. `from`: the last moment that the database knows of. */
export async function noteLostTime(
  connection: Queryable,
  from: string | null,
  ahead: number,
): Promise<LostTime> {
  const { rows } = await connection.query<LostTime>(NOTE_LOST_TIME, [from, ahead]);
  const lost = rows[0] as LostTime;
  await journalLostTime(connection, 'gateway:heartbeat', lost);
  return lost;
}

/**
 * After a restore the key may arrive later than the database. An entry without a MAC would pass for a forged one, so the entry
 * waits.
 */
export async function journalLostTime(connection: Queryable, actor: string, lost: LostTime): Promise<void> {
  // guard(lost time: an entry of the journal waits for its key): undefined ⇒ null
  if ((await signerOf(connection)) === undefined) await connection.query(LOST_TIME_UNJOURNALLED, [actor]);
  else await journal(connection, { actor, action: 'gateway.restored', detail: inWords(lost) });
}

/** Journals the entries that waited for the key. Any number of processes may do it. */
export function journalDeferredLostTime(database: Queryable): Promise<void> {
  return database.transaction(async (connection) => {
    const { rows } = await connection.query<LostTime & { notedBy: string }>(TAKE_UNJOURNALLED);
    for (const { notedBy, ...lost } of rows) {
      const detail = `${inWords(lost)}; noted without the key by ${notedBy}`;
      await journal(connection, { actor: 'gateway:start', action: 'gateway.restored', detail });
    }
  });
}

/** From now on "no such transaction" is answered again. False if nothing was lost. */
export async function forgetLostTime(connection: Queryable): Promise<boolean> {
  return (await connection.query(FORGET_LOST_TIME)).rows.length > 0;
}

export function inWords({ fromMs, untilMs }: LostTime): string {
  return `what was processed from ${new Date(fromMs).toISOString()} to ${new Date(untilMs).toISOString()} is lost`;
}
