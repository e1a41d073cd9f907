// Tokens of another vault taken in, line by line: checked as the interface checks them, sealed, and committed in batches. It can be
// interrupted and run again at any point.
import { setTimeout as sleep } from 'node:timers/promises';
import { journal } from '../../journal/journal.js';
import type { Database } from '../../postgres/database.js';
import type { Progress } from '../../tasks/task.js';
import { refuse } from '../../values/refusal.js';
import { eraseSecrets } from '../account.js';
import { entryOf } from '../customers.js';
import { makeInstallationKey } from '../keys/installation-keys.js';
import type { KeyProvider } from '../keys/key-provider.js';
import { DataKeys } from '../keys/keys.js';
import { accessOf, vaultOf } from '../vault-tasks.js';
import { isRefused, type RefusedLine, tokenOf } from './card-fields.js';
import { type CardFile, openCardFile } from './card-file.js';
import { cardLines } from './card-lines.js';
import { type ForeseenEnding, ForeseenImports } from './foreseen-imports.js';
import { type FormerToken, type ImportEnding, VaultImports } from './imports.js';

interface VaultImportWish {
  readonly merchant: number;
  /** Whose IDs the old ones are, such as `stripe`. */
  readonly source: string;
  /** `-` is standard input. */
  readonly path: string;
  /** The file with the secret key of age; `-` is standard input. */
  readonly identity?: string | undefined;
  /** The file may be in clear where the merchant is test. */
  readonly clearTestFile?: boolean | undefined;
  /** What the file calls a field, by what it is called here. */
  readonly names: Readonly<Record<string, string>>;
  readonly plainNames?: boolean | undefined;
  /** Checks every line, and writes nothing. */
  readonly dryRun?: boolean | undefined;
  readonly progress: Progress;
  /** Told of lines that were not taken in, and why; never what stands in them. */
  readonly refused: (lines: readonly RefusedLine[]) => Promise<void>;
  /** Told which token each old ID stands for. */
  readonly mapped: (tokens: readonly MappedToken[]) => Promise<void>;
}

export interface MappedToken {
  readonly oldTokenId: string;
  readonly ending: ImportEnding['kind'];
  readonly customerId: number;
  readonly tokenId: number;
  readonly virtualPan: string;
}

export interface VaultImportResult {
  readonly merchant: number;
  readonly source: string;
  readonly dryRun: boolean;
  readonly lines: number;
  /** With `dryRun`: what would be. */
  readonly imported: number;
  readonly alreadyThere: number;
  /** Cards that the same customer had, known by both IDs from now on. */
  readonly duplicates: number;
  readonly refused: number;
  /** Of the file as it was read. */
  readonly sha256: string;
}

type Counted = {
  -readonly [Name in 'lines' | 'imported' | 'alreadyThere' | 'duplicates' | 'refused']: number;
};

const BATCH = 250;
/** After every batch, so that payments are served in between. */
const BREATH_MS = 2;
const SOURCE = /^[A-Za-z0-9._-]{1,32}$/;

export async function importVault(
  database: Database,
  operator: string,
  provider: KeyProvider,
  wish: VaultImportWish,
): Promise<VaultImportResult> {
  const { merchant, source, path, identity, clearTestFile = false, dryRun = false } = wish;
  if (!SOURCE.test(source)) refuse('source_not_allowed');
  const owner = await vaultOf(database, merchant);
  if (owner.suspended) refuse('merchant_suspended', { merchant });
  const access = await accessOf(database, operator, owner.organisationId, owner.merchantId);
  const keys = new DataKeys(database, provider);
  const recognitionKey = await makeInstallationKey(database, provider, 'recognition');
  const imports = new VaultImports(database, keys, recognitionKey, access, source);
  const foreseen = new ForeseenImports(imports, recognitionKey, access);
  const endingsOf = (tokens: readonly FormerToken[]) =>
    dryRun ? foreseen.endings(tokens) : imports.add(tokens);
  const mayBeClear = clearTestFile && owner.mode === 'test';
  const file = await openCardFile({ path, identity, mayBeClear });
  const counted: Counted = { lines: 0, imported: 0, alreadyThere: 0, duplicates: 0, refused: 0 };
  try {
    for await (const batch of batches(file, wish)) {
      await takeIn(endingsOf, batch, wish, counted);
      wish.progress(counted.lines, linesIn(file, counted.lines));
      if (!dryRun) await sleep(BREATH_MS);
    }
  } finally {
    file.close();
    if (!dryRun) await keys.recordSeals();
  }
  const sha256 = file.digest();
  const { imported, alreadyThere, duplicates, refused } = counted;
  const detail = `source ${source}, ${imported} imported, ${alreadyThere} already there, ${duplicates} duplicates, ${refused} refused, sha256 ${sha256}`;
  if (!dryRun) await journal(database, { ...entryOf(access), action: 'vault.imported', detail });
  return { merchant, source, dryRun, ...counted, sha256 };
}

/** How many there will be, if the rest is like what was read. */
function linesIn({ readBytes, totalBytes }: CardFile, lines: number): number | undefined {
  return totalBytes && Math.max(lines, Math.round((lines * totalBytes) / Math.max(readBytes(), 1)));
}

interface Batch {
  readonly tokens: (FormerToken & { readonly line: number })[];
  readonly refused: RefusedLine[];
}

/** Of bounded size, and no old ID twice in one: the second time it is already there. */
async function* batches(file: CardFile, { names, plainNames }: VaultImportWish): AsyncGenerator<Batch> {
  let batch: Batch = { tokens: [], refused: [] };
  let ids = new Set<string>();
  const sizeOf = ({ tokens, refused }: Batch) => tokens.length + refused.length;
  try {
    for await (const line of cardLines(file.bytes, names)) {
      const token = tokenOf(line, { plainNames });
      if (sizeOf(batch) >= BATCH || (!isRefused(token) && ids.has(token.formerId))) {
        yield batch;
        batch = { tokens: [], refused: [] };
        ids = new Set();
      }
      if (isRefused(token)) batch.refused.push(token);
      else {
        ids.add(token.formerId);
        batch.tokens.push({ ...token, line: line.number });
      }
    }
  } catch (error) {
    // What stood before the place that cannot be read is taken in all the same.
    if (sizeOf(batch) > 0) yield batch;
    throw error;
  }
  if (sizeOf(batch) > 0) yield batch;
}

async function takeIn(
  endingsOf: (tokens: readonly FormerToken[]) => Promise<ReadonlyMap<string, ForeseenEnding>>,
  { tokens, refused }: Batch,
  { refused: tell, mapped }: VaultImportWish,
  counted: Counted,
): Promise<void> {
  const endings = tokens.length === 0 ? new Map() : await endingsOf(tokens);
  const wrong = [...refused];
  const known: MappedToken[] = [];
  for (const { formerId, account, line } of tokens) {
    eraseSecrets(account);
    const ending = endings.get(formerId) as ForeseenEnding;
    if (ending.kind === 'taken') {
      const problems = [{ field: 'old_token_id', problem: 'taken_by_another_card' as const }];
      wrong.push({ line, oldTokenId: formerId, problems });
      continue;
    }
    counted[COUNTERS[ending.kind]] += 1;
    if (ending.tokenId === undefined) continue;
    const { kind, customerId, tokenId, virtualPan } = ending;
    known.push({ oldTokenId: formerId, ending: kind, customerId, tokenId, virtualPan });
  }
  counted.refused += wrong.length;
  counted.lines += tokens.length + refused.length;
  if (wrong.length > 0) await tell(wrong);
  if (known.length > 0) await mapped(known);
}

const COUNTERS = {
  imported: 'imported',
  'already there': 'alreadyThere',
  duplicate: 'duplicates',
} as const;
