// The journal as the operator reads it, holds it against its chain, and takes it elsewhere. It is written where things are done
// (`journal.ts`).
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Database, Queryable } from '../postgres/database.js';
import { count, FROM, ID, TEXT, UNTIL } from '../tasks/kinds.js';
import { type Doing, type Given, needed, optional, task } from '../tasks/task.js';
import type { Audit, CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { unreadable, writeText, writeWhole } from '../values/whole-file.js';
import { ChainKey } from './blocks.js';
import { JournalChain } from './chain.js';
import {
  endOfChain,
  type KnownBlock,
  readCheckpoints,
  type SignedCheckpoint,
  signedCheckpoint,
} from './checkpoints.js';
import { EntrySigner } from './entry-signer.js';
import { journal } from './journal.js';
import { EXPORT_JOURNAL, MERCHANT_IN_JOURNAL, READ_JOURNAL } from './journal-tasks.sql.js';
import { JournalVerification, type Verification } from './verification.js';

const FILTER = {
  merchant: optional(ID, '--merchant <id>', 'only of this merchant', { names: 'merchants' }),
  token: optional(ID, '--token <id>', 'only of this token'),
  user: optional(TEXT, '--user <name>', 'only what this user or operator did'),
  action: optional(
    TEXT,
    '--action <name>',
    'only this, such as user.added, or all that begin alike, such as user',
  ),
  from: optional(FROM, '--from <time>', 'from this day, or instant, on'),
  until: optional(UNTIL, '--to <time>', 'up to this day, or instant'),
};

type JournalFilter = Given<typeof FILTER>;

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

/** The last line of an export: what the lines before it come to, signed. */
interface ExportEnd {
  readonly entries: number;
  readonly sha256: string;
  readonly checkpoint: SignedCheckpoint;
  readonly signature: string;
}

const PAGE = 1_000;

function filterValues({ merchant, token, user, action, from, until }: JournalFilter): unknown[] {
  return [merchant, token, user, action, from, until].map((value) => value ?? null);
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
  known: readonly KnownBlock[] = [],
): Promise<Verification> {
  return new JournalVerification(database, new ChainKey(key), new EntrySigner(key), known).run();
}

/** The same for about so many of the last ones: what came before is taken as it is. */
export function verifyEndOfJournal(
  database: Queryable,
  key: Buffer,
  entries: number,
  known: readonly KnownBlock[] = [],
): Promise<Verification> {
  return new JournalVerification(database, new ChainKey(key), new EntrySigner(key), known).runOnLast(entries);
}

/** What has been journalled until now is taken up first. */
async function checkpointOf(database: Database, key: Buffer): Promise<SignedCheckpoint> {
  const chainKey = new ChainKey(key);
  await new JournalChain(database, chainKey, { onForeign: () => {}, onCut: () => {} }).run();
  return signedCheckpoint(database, chainKey);
}

/** The checkpoints in files, if this installation has signed them. */
export async function knownFrom(
  database: Queryable,
  key: Buffer,
  paths: readonly string[],
): Promise<KnownBlock[]> {
  if (paths.length === 0) return [];
  const { installation } = await endOfChain(database);
  const known: KnownBlock[] = [];
  for (const path of paths) {
    const read = readCheckpoints(await readFile(path, 'utf8').catch(unreadable(path)), key, installation);
    if (read === 'unreadable') refuse('checkpoint_unreadable', { path });
    if (read === 'foreign') refuse('checkpoint_of_another', { path });
    known.push(...read);
  }
  return known;
}

/** Lines of JSON: an entry each, the oldest first, and what they come to, signed. Each with its line feed. */
async function* exportJournal(
  database: Database,
  operator: string,
  key: Buffer,
  { out, ...filter }: JournalFilter & { readonly out: string },
): AsyncGenerator<string> {
  await checkMerchant(database, filter.merchant);
  await journal(database, { actor: operator, action: 'journal.exported', detail: `to ${out}` });
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

/** The file appears when it is whole, and replaces no other. Returns how many lines are in it. */
async function writeLines(path: string, texts: AsyncIterable<string>): Promise<number> {
  const { result } = await writeWhole(path, 'refuse', async (append) => {
    let lines = 0;
    for await (const text of texts) {
      await append(text);
      lines += text.split('\n').length - 1;
    }
    return lines;
  });
  return result;
}

function sentencesOn({ blocks, entries, unchained, problems, problemCount }: Verification): string {
  const whole = `${entries} entries, ${blocks} blocks.`;
  const notes = unchained > 0 ? [`${unchained} entries are not in the chain yet.`] : [];
  if (problemCount === 0) return [`The journal is whole: ${whole}`, ...notes].join('\n');
  const lines = problems.map(({ entry, block, problem }) =>
    entry === undefined ? `block ${block}: ${problem}` : `entry ${entry}: ${problem}`,
  );
  const more = problemCount > problems.length ? [`and ${problemCount - problems.length} more`] : [];
  const isOnlyLost = problems.every(({ problem }) => problem.startsWith('lost:'));
  const heading = isOnlyLost ? 'THE END OF THE JOURNAL WAS LOST' : 'THE JOURNAL WAS CHANGED';
  return [`${heading}: ${whole}`, ...lines, ...more, ...notes].join('\n');
}

type WithKey = Doing<{ journalKey(): Promise<Buffer> }>;

export const JOURNAL = {
  name: 'journal',
  help: 'who did what, and whether anybody has changed it',
  tasks: [
    task({
      name: 'journal list',
      help: 'show who did what, the newest first',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /journal',
      isDefault: true,
      input: {
        ...FILTER,
        limit: optional(count(), '--limit <count>', 'how many at most', { default: 50, onPage: 1_000 }),
      },
      run: ({ database }, given) => readJournal(database, given),
    }),
    task({
      name: 'journal verify',
      help: 'find entries that were changed, removed or inserted; exit code 1 if there are any',
      role: 'viewer',
      scope: 'installation',
      byAccount: true,
      route: 'POST /journal/verify',
      long: true,
      input: {
        checkpoint: optional(
          TEXT,
          '--checkpoint <file>',
          'also hold it against checkpoints that were kept elsewhere, one in each line',
          { only: 'command' },
        ),
      },
      run: async ({ database, means, settings }: WithKey, { checkpoint }) => {
        const key = await means.journalKey();
        const paths = [...settings.journalAnchorFiles, ...(checkpoint === undefined ? [] : [checkpoint])];
        return verifyJournal(database, key, await knownFrom(database, key, paths));
      },
      says: sentencesOn,
      fails: ({ problemCount }) => problemCount > 0,
    }),
    task({
      name: 'journal checkpoint',
      help: 'sign the end of the chain, to be kept elsewhere',
      role: 'operator',
      scope: 'installation',
      byAccount: true,
      input: { out: optional(TEXT, '--out <file>', 'write it to this file') },
      run: async ({ database, actor, means }: WithKey, { out }) => {
        await journal(database, { actor, action: 'journal.checkpoint_made' });
        const checkpoint = await checkpointOf(database, await means.journalKey());
        if (out !== undefined) await writeText(out, 'refuse', `${JSON.stringify(checkpoint)}\n`);
        return checkpoint;
      },
      says: (checkpoint, { out }) => {
        const where = out === undefined ? `\n${JSON.stringify(checkpoint)}` : ` It is in ${out}.`;
        return `Block ${checkpoint.number} of the journal is signed.${where}`;
      },
    }),
    task({
      name: 'journal export',
      help: 'write entries to a file, the oldest first, with a signature at the end',
      role: 'operator',
      scope: 'organisation',
      fresh: true,
      input: { out: needed(TEXT, '--out <file>', 'the file, which must not be there yet'), ...FILTER },
      run: async ({ database, actor, means }: WithKey, given) => {
        const lines = exportJournal(database, actor, await means.journalKey(), given);
        return { out: given.out, entries: (await writeLines(given.out, lines)) - 1 };
      },
      says: ({ out, entries }) => `${entries} entries are in ${out}.`,
    }),
    task({
      name: 'journal key',
      help: 'show the public key with which signatures of the journal are checked',
      role: 'viewer',
      scope: 'nobody',
      input: {},
      run: async ({ means }: WithKey) => ({ publicKey: new ChainKey(await means.journalKey()).publicKey }),
      says: ({ publicKey }) => publicKey.trimEnd(),
    }),
  ],
} as const;
