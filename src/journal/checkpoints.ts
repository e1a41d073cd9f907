// Signed checkpoints: the end of the journal's chain, to be kept outside of the database. Whoever has one knows if the journal is cut or
// changed later.
import type { Queryable } from '../postgres/database.js';
import { ChainKey } from './blocks.js';
import { BLOCK_HASHES, LINEAGE } from './chain.sql.js';
import { END_OF_CHAIN } from './journal-tasks.sql.js';

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

/** What a checkpoint says of the chain. */
export interface KnownBlock {
  readonly number: number;
  readonly hash: string;
  /** The lineage of the database at that time. */
  readonly lineage?: string;
}

/** What is wrong, and with which entry or block. */
export interface JournalProblem {
  readonly entry?: number;
  readonly block?: number;
  readonly problem: string;
}

interface EndOfChain {
  readonly installation: string;
  readonly number: number | null;
  readonly hash: Buffer | null;
  readonly madeMs: number | null;
  readonly chainedUpTo: number;
  readonly lineage: string;
}

/** A failover to a standby that lacked commits, or a restore: the end is lost, but nobody forged anything. */
const LOST = 'the database was promoted or restored since then, and has lost what came last';
const PAGE = 1_000;

export async function endOfChain(database: Queryable): Promise<EndOfChain> {
  return (await database.query<EndOfChain>(END_OF_CHAIN)).rows[0] as EndOfChain;
}

/** Of the blocks that are there. */
export async function signedCheckpoint(database: Queryable, key: ChainKey): Promise<SignedCheckpoint> {
  const { installation, number, hash, madeMs, lineage } = await endOfChain(database);
  const checkpoint = {
    installation,
    number: number ?? 0,
    hash: hash?.toString('hex') ?? '',
    made: new Date(madeMs ?? 0).toISOString(),
    lineage,
  };
  return { ...checkpoint, public_key: key.publicKey, signature: key.sign(signedText(checkpoint)) };
}

/** `unreadable`: none was found. `foreign`: one that this installation has not signed, though it says so. */
export type ReadCheckpoints = readonly KnownBlock[] | 'unreadable' | 'foreign';

/**
 * From lines such as a collector keeps: what stands before a checkpoint is ignored, and so are lines without one. If there are several
 * installations in them, this one counts.
 */
export function readCheckpoints(text: string, key: Buffer, installation: string): ReadCheckpoints {
  const chainKey = new ChainKey(key);
  const known: KnownBlock[] = [];
  let foreign = false;
  for (const line of text.split('\n')) {
    const read = checkpointIn(line);
    if (read === undefined) continue;
    // guard(journal: a checkpoint of somebody else’s is refused): chainKey.isSigned(signedText(read), read.signature) ⇒ read.signature.length > 0
    if (chainKey.isSigned(signedText(read), read.signature)) known.push(read);
    else if (read.installation === installation) return 'foreign';
    else foreign = true;
  }
  if (known.length > 0) return known;
  return foreign ? 'foreign' : 'unreadable';
}

function checkpointIn(line: string): Omit<SignedCheckpoint, 'public_key'> | undefined {
  const start = line.indexOf('{"installation"');
  if (start === -1) return undefined;
  try {
    const { installation, number, hash, made, lineage, signature } = JSON.parse(line.slice(start));
    if (typeof number !== 'number' || typeof hash !== 'string' || typeof signature !== 'string')
      return undefined;
    return {
      installation: String(installation),
      number,
      hash,
      made: String(made),
      lineage: String(lineage),
      signature,
    };
  } catch {
    return undefined;
  }
}

function signedText(checkpoint: Omit<SignedCheckpoint, 'public_key' | 'signature'>): string {
  const { installation, number, hash, made, lineage } = checkpoint;
  return JSON.stringify(['tollgate journal checkpoint', installation, number, hash, made, lineage]);
}

/** The blocks that the chain does not have, or has otherwise. */
export async function problemsWith(
  database: Queryable,
  known: readonly KnownBlock[],
): Promise<JournalProblem[]> {
  const problems: JournalProblem[] = [];
  const { rows: lineages } = await database.query<{ lineage: string }>(LINEAGE);
  for (let at = 0; at < known.length; at += PAGE) {
    const page = known.slice(at, at + PAGE);
    const numbers = page.map(({ number }) => number);
    const { rows } = await database.query<{ number: number; hash: Buffer }>(BLOCK_HASHES, [numbers]);
    const hashes = new Map(rows.map(({ number, hash }) => [number, hash.toString('hex')]));
    for (const { number, hash, lineage = '' } of page) {
      const found = hashes.get(number);
      // guard(journal: a chain that ends before a checkpoint is found): found === hash ⇒ found === hash || found === undefined
      if (found === hash) continue;
      const [how, what] =
        found === undefined
          ? ['removed', 'the checkpoint knows it, and the chain ends before it']
          : ['changed', 'the checkpoint knows another'];
      const isAnother = lineage !== '' && lineages[0]?.lineage !== lineage;
      problems.push({ block: number, problem: isAnother ? `lost: ${what}; ${LOST}` : `${how}: ${what}` });
    }
  }
  return problems;
}
