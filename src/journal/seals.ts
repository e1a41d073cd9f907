// Seals of rows that direct cards or money, or give rights. The journal entry of each change seals what the row says from then on, under
// a version that only grows. A row is used only while it is as its newest seal says: one that was altered, inserted, put back or deleted
// by another way than ours is not.
import type { Queryable } from '../postgres/database.js';
import { type Refusal, refuse } from '../values/refusal.js';
import { type EntrySeal, type EntrySigner, signerOf } from './entry-signer.js';
import { FORGED, type Misfit, type ReadRow, type SealedRow } from './seal-watch.js';
import { NEWEST_SEAL, NEWEST_SEALS } from './seals.sql.js';

export type { Misfit, ReadRow, SealedRow } from './seal-watch.js';

/** `version` and `seal`: of the newest genuine seal, if there is one. A version may come again after a failover that lost something. */
export type Fit = { readonly version: number; readonly seal: string } & (
  | { readonly kind: 'fits' }
  | { readonly kind: 'misfit'; readonly misfit: Misfit }
);

/** Whoever can write to the journal can append forged seals. So many are passed over. */
const MOST_FORGED = 100;
const VERSION_BYTES = 4;

/** For a statement that reads a sealed row: the newest seal of the subject that this expression names, behind its version. */
export const newestSeal = (subject: string) => `(
      SELECT int4send(j.subject_version) || j.seal FROM journal j WHERE j.subject = ${subject}
      ORDER BY j.subject_version DESC LIMIT 1)`;

/** Whether the row is as its newest genuine seal says. */
export async function fitOf(database: Queryable, { subject, state, newest }: ReadRow): Promise<Fit> {
  const signer = await neededSigner(database);
  const genuine = await genuineSeal(database, signer, subject, newest);
  const { version, seal } = typeof genuine === 'object' ? genuine : NO_SEAL;
  const known = { version, seal: seal.toString('base64') };
  const misfit = (misfit: Misfit): Fit => ({ kind: 'misfit', misfit, ...known });
  if (genuine === 'none among the newest') return misfit('no genuine seal among the newest');
  if (genuine === undefined) return state === null ? { kind: 'fits', ...known } : misfit('not sealed');
  // guard(directions: a row is used only as its newest seal says): signer.isSealOf(subject, state, seal) ⇒ seal.length > 0
  if (signer.isSealOf(subject, state, seal)) return { kind: 'fits', ...known };
  if (state === null) return misfit('is gone');
  return misfit(signer.isSealOf(subject, null, seal) ? 'removed, and is back' : 'changed');
}

/** The same for a process that serves or answers operators: a row that does not fit is reported, and one that fits is remembered. */
export async function fitNow(database: Queryable, row: ReadRow): Promise<Fit> {
  const watch = (await neededSigner(database)).watch;
  const known = watch?.known(row);
  if (known !== undefined) return { kind: 'fits', ...known };
  const fit = await fitOf(database, row);
  if (fit.kind === 'fits') watch?.fits(row, fit);
  else watch?.report(row.subject, fit.misfit);
  return fit;
}

/** For a row that is sealed otherwise. */
export async function reportMisfit(database: Queryable, subject: string, misfit: Misfit): Promise<void> {
  (await neededSigner(database)).watch?.report(subject, misfit);
}

/** The same as `fitNow` for a row that was read without its seal. */
export async function isAsSealed(database: Queryable, row: SealedRow): Promise<boolean> {
  const newest = await newestOf(database, row.subject);
  return (await fitNow(database, { ...row, newest })).kind === 'fits';
}

/** For a command that changes the row: it must be locked. Refuses if it is not as its newest seal says. */
export async function checkSeal(connection: Queryable, row: SealedRow): Promise<void> {
  const fit = await fitOf(connection, { ...row, newest: await newestOf(connection, row.subject) });
  if (fit.kind === 'misfit') throw sealBroken(row.subject, fit.misfit);
}

export function sealBroken(subject: string, misfit: Misfit): Refusal {
  return refuse('seal_broken', { subject, misfit });
}

/** The seal that follows the newest genuine one. The row must be locked, or new. */
export async function nextSeal(connection: Queryable, { subject, state }: SealedRow): Promise<EntrySeal> {
  const signer = await neededSigner(connection);
  const genuine = await genuineSeal(connection, signer, subject, await newestOf(connection, subject));
  if (genuine === 'none among the newest') throw sealBroken(subject, 'no genuine seal among the newest');
  const subjectVersion = (genuine?.version ?? 0) + 1;
  return { subject, subjectVersion, seal: signer.sealOf(subject, subjectVersion, state) };
}

/** The version of the newest genuine seal; 0 if there is none. */
export async function newestVersion(database: Queryable, subject: string): Promise<number> {
  const newest = await newestOf(database, subject);
  const genuine = await genuineSeal(database, await neededSigner(database), subject, newest);
  if (genuine === 'none among the newest') throw sealBroken(subject, 'no genuine seal among the newest');
  return genuine?.version ?? 0;
}

/** Whether there was ever a seal. Where many were forged, there may be a genuine one below them. */
export async function wasSealed(database: Queryable, subject: string): Promise<boolean> {
  const newest = await newestOf(database, subject);
  // guard(directions: forged seals do not make an installation new): !== undefined ⇒ instanceof Object
  return (await genuineSeal(database, await neededSigner(database), subject, newest)) !== undefined;
}

/** For rows that are read later: the newest genuine seal, unless it says that there is no row. */
export async function sealToRead(
  database: Queryable,
  subject: string,
  newest: Buffer | null,
): Promise<Omit<Fit, 'kind'> | undefined> {
  if (newest === null) return undefined;
  const fit = await fitOf(database, { subject, state: null, newest });
  return fit.kind === 'fits' ? undefined : { version: fit.version, seal: fit.seal };
}

interface Genuine {
  readonly version: number;
  readonly seal: Buffer;
}

const NO_SEAL: Genuine = { version: 0, seal: Buffer.alloc(0) };

/**
 * By version and not by time: a copy of an earlier entry is genuine, too. Undefined if there is no seal at all. Where some were made, and
 * none of the newest is genuine, an earlier one may be out of date.
 */
async function genuineSeal(
  database: Queryable,
  signer: EntrySigner,
  subject: string,
  newest: Buffer | null,
): Promise<Genuine | undefined | 'none among the newest'> {
  if (newest === null) return undefined;
  const first = { version: newest.readInt32BE(0), seal: newest.subarray(VERSION_BYTES) };
  if (signer.isSeal(subject, first.version, first.seal)) return first;
  const { rows } = await database.query<Genuine>(NEWEST_SEALS, [subject, MOST_FORGED]);
  const genuine = rows.find(({ version, seal }) => signer.isSeal(subject, version, seal));
  signer.watch?.report(subject, FORGED);
  if (genuine !== undefined) return genuine;
  // guard(directions: many forged seals do not make a row new): rows.length < MOST_FORGED ⇒ rows.length > 0
  return rows.length < MOST_FORGED ? undefined : 'none among the newest';
}

async function newestOf(database: Queryable, subject: string): Promise<Buffer | null> {
  return (await database.query<Pick<ReadRow, 'newest'>>(NEWEST_SEAL, [subject])).rows[0]?.newest ?? null;
}

async function neededSigner(database: Queryable): Promise<EntrySigner> {
  const signer = await signerOf(database);
  if (signer === undefined) throw new Error('a sealed row is read or changed without the key of the journal');
  return signer;
}
