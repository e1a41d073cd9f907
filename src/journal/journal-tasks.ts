// The journal as the operator reads it, holds it against its chain, and takes it elsewhere. It is written where things are done
// (`journal.ts`).
import { createHash } from 'node:crypto';
import type { Database, Queryable } from '../postgres/database.js';
import type { Audit, CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { ChainKey } from './blocks.js';
import { JournalChain } from './chain.js';
import { EntrySigner } from './entry-signer.js';
import { journal } from './journal.js';
import { END_OF_CHAIN, EXPORT_JOURNAL, MERCHANT_IN_JOURNAL, READ_JOURNAL } from './journal-tasks.sql.js';
import { JournalVerification, type KnownBlock, type Verification } from './verification.js';

export interface JournalFilter {
  readonly merchant?: number | undefined;
  readonly token?: number | undefined;
  /** A user or an operator by name, or an actor as the journal shows it. */
  readonly user?: string | undefined;
  /** One action, such as `user.added`, or all that begin alike, such as `user`. */
  readonly action?: string | undefined;
  readonly fromMs?: number | undefined;
  /** Itself not included. */
  readonly toMs?: number | undefined;
}

export interface JournalView {
  readonly id: number;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly organisation: OrganisationId | null;
  readonly merchant: MerchantId | null;
  readonly customer: CustomerId | null;
  readonly token: TokenId | null;
  readonly audit: Audit | null;
  readonly correlationId: string | null;
  readonly detail: string | null;
  /** The client's address, or the machine of a command. */
  readonly address: string | null;
}

/** The end of the chain, signed: whoever keeps it elsewhere knows if the journal is cut or changed later. */
export interface SignedCheckpoint {
  readonly installation: string;
  readonly number: number;
  readonly hash: string;
  readonly made: string;
  /** Of the database: another one after a failover. */
  readonly lineage: string;
  readonly public_key: string;
  readonly signature: string;
}

/** The last line of an export: what the lines before it come to, signed. */
export interface ExportEnd {
  readonly entries: number;
  readonly sha256: string;
  readonly checkpoint: SignedCheckpoint;
  readonly signature: string;
}

const PAGE = 1_000;

function filterValues({ merchant, token, user, action, fromMs, toMs }: JournalFilter): unknown[] {
  return [merchant, token, user, action, fromMs, toMs].map((value) => value ?? null);
}

/** One that does not exist has no entries, and that would look like an answer. */
async function checkMerchant(database: Queryable, merchant: number | undefined): Promise<void> {
  if (merchant === undefined) return;
  const { count } = await database.query(MERCHANT_IN_JOURNAL, [merchant]);
  if (count === 0) refuse('merchant_not_found', { merchant });
}

/** The newest first, so many at most. */
export async function readJournal(
  database: Queryable,
  { limit, ...filter }: JournalFilter & { readonly limit: number },
): Promise<JournalView[]> {
  await checkMerchant(database, filter.merchant);
  return (await database.query<JournalView>(READ_JOURNAL, [...filterValues(filter), limit])).rows;
}

/** Which entry was changed, taken away or put in. */
export function verifyJournal(
  database: Queryable,
  key: Buffer,
  checkpoint?: KnownBlock,
): Promise<Verification> {
  return new JournalVerification(database, new ChainKey(key), new EntrySigner(key), checkpoint).run();
}

/** The same for about so many of the last ones: what came before is taken as it is. */
export function verifyEndOfJournal(database: Queryable, key: Buffer, entries: number): Promise<Verification> {
  return new JournalVerification(database, new ChainKey(key), new EntrySigner(key)).runOnLast(entries);
}

/** What has been journalled until now is taken up first. */
export async function makeCheckpoint(
  database: Database,
  operator: string,
  key: Buffer,
): Promise<SignedCheckpoint> {
  await journal(database, { actor: operator, action: 'journal.checkpoint_made' });
  return checkpointOf(database, key);
}

async function checkpointOf(database: Database, key: Buffer): Promise<SignedCheckpoint> {
  const chainKey = new ChainKey(key);
  await new JournalChain(database, chainKey, { onForeign: () => {}, onCut: () => {} }).run();
  const { installation, number, hash, madeMs, lineage } = await endOfChain(database);
  const checkpoint = {
    installation,
    number: number ?? 0,
    hash: hash?.toString('hex') ?? '',
    made: new Date(madeMs ?? 0).toISOString(),
    lineage,
  };
  const signature = chainKey.sign(signedText(checkpoint));
  return { ...checkpoint, public_key: chainKey.publicKey, signature };
}

/** A checkpoint as it was kept, if this installation has signed it. */
export function readCheckpoint(text: string, key: Buffer, path: string): KnownBlock {
  let read: Partial<SignedCheckpoint>;
  try {
    read = JSON.parse(text) as Partial<SignedCheckpoint>;
  } catch {
    refuse('checkpoint_unreadable', { path });
  }
  const { installation, number, hash, made, lineage, signature } = read;
  if (typeof number !== 'number' || typeof hash !== 'string' || typeof signature !== 'string')
    refuse('checkpoint_unreadable', { path });
  const texts = { installation: String(installation), made: String(made), lineage: String(lineage) };
  const checkpoint = { number, hash, ...texts };
  // guard(journal: a checkpoint of somebody else’s is refused): ! ⇒ signature.length < 0 && !
  if (!new ChainKey(key).isSigned(signedText(checkpoint), signature))
    refuse('checkpoint_of_another', { path });
  return { number, hash, lineage: texts.lineage };
}

function signedText(checkpoint: Omit<SignedCheckpoint, 'public_key' | 'signature'>): string {
  const { installation, number, hash, made, lineage } = checkpoint;
  return JSON.stringify(['tollgate journal checkpoint', installation, number, hash, made, lineage]);
}

/** Lines of JSON: an entry each, the oldest first, and what they come to, signed. Each with its line feed. */
export async function* exportJournal(
  database: Database,
  operator: string,
  key: Buffer,
  filter: JournalFilter,
  /** Where they go: a file, or a page's address. */
  to: string,
): AsyncGenerator<string> {
  await checkMerchant(database, filter.merchant);
  await journal(database, { actor: operator, action: 'journal.exported', detail: `to ${to}` });
  const checkpoint = await checkpointOf(database, key);
  const { chainedUpTo } = await endOfChain(database);
  const digest = createHash('sha256');
  let entries = 0;
  for (let after = 0; ; ) {
    const values = [...filterValues(filter), PAGE, after, chainedUpTo];
    const { rows } = await database.query<JournalView>(EXPORT_JOURNAL, values);
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    digest.update(lines);
    entries += rows.length;
    if (rows.length > 0) yield lines;
    if (rows.length < PAGE) break;
    after = (rows.at(-1) as JournalView).id;
  }
  const sha256 = digest.digest('hex');
  const signature = new ChainKey(key).sign(JSON.stringify(['tollgate journal export', entries, sha256]));
  const end: ExportEnd = { entries, sha256, checkpoint, signature };
  yield `${JSON.stringify(end)}\n`;
}

/** For whoever holds signatures of this installation against it. */
export function publicKeyOfJournal(key: Buffer): string {
  return new ChainKey(key).publicKey;
}

interface EndOfChain {
  readonly installation: string;
  readonly number: number | null;
  readonly hash: Buffer | null;
  readonly madeMs: number | null;
  readonly chainedUpTo: number;
  readonly lineage: string;
}

async function endOfChain(database: Queryable): Promise<EndOfChain> {
  return (await database.query<EndOfChain>(END_OF_CHAIN)).rows[0] as EndOfChain;
}
