// What an upgrade seals, once: everything that an earlier release has stored without a seal. `migrate` does it, or the first start if
// `migrate` did not have the key. Whoever takes away the journal's word that it was done, or the journal's key, could have a row of their
// own sealed. So nothing is sealed while entries of the journal are missing or changed.
import { stat } from 'node:fs/promises';
import { ChainKey } from '../journal/blocks.js';
import { JournalChain } from '../journal/chain.js';
import { knownFrom, verifyJournal } from '../journal/journal-tasks.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { areTransactionsSealed, sealTransactions } from '../payments/sealing.js';
import type { Database } from '../postgres/database.js';
import { refuse } from '../values/refusal.js';
import { withJournalledKeys } from '../vault/keys/journalled-keys.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { areRowsSealed, sealWhatIsThere } from './subjects.js';

export interface Upgrade {
  readonly actor: string;
  readonly provider: KeyProvider;
  readonly journalKey: Buffer;
  readonly credentialKey: CredentialKey;
  /** With checkpoints of the journal, of which some may not be there yet. */
  readonly anchorFiles: readonly string[];
  /** Somebody has said that they know. */
  readonly changedJournalKnown?: boolean | undefined;
}

export interface SealedAtUpgrade {
  readonly transactions: number;
  readonly rows: number;
}

/** Undefined if all of it was done before. Can be killed, and goes on where it stopped. */
export async function sealAtUpgrade(
  database: Database,
  { actor, provider, journalKey, credentialKey, anchorFiles, changedJournalKnown = false }: Upgrade,
): Promise<SealedAtUpgrade | undefined> {
  if ((await areTransactionsSealed(database)) && (await areRowsSealed(database))) return undefined;
  // guard(sealing: not while the journal is not whole): if (!changedJournalKnown) ⇒ if (changedJournalKnown)
  if (!changedJournalKnown) await needWholeJournal(database, journalKey, anchorFiles);
  const transactions = await withJournalledKeys(database, actor, provider, (keys) =>
    sealTransactions(database, keys, actor),
  );
  const rows = await sealWhatIsThere(database, actor, credentialKey);
  // From now on nobody takes the entries about it away unseen.
  const reports = { onForeign: () => {}, onCut: () => {} };
  await new JournalChain(database, new ChainKey(journalKey), reports).run();
  return { transactions: transactions ?? 0, rows: rows ?? 0 };
}

/** Entries that somebody has inserted hide nothing, and neither does what a failover or a restore has lost. */
const HIDING = /^(removed|changed)/;

async function needWholeJournal(
  database: Database,
  key: Buffer,
  anchorFiles: readonly string[],
): Promise<void> {
  const known = await knownFrom(database, key, await filled(anchorFiles));
  const { problems, problemCount } = await verifyJournal(database, key, known);
  const hiding = problems.filter(({ problem }) => HIDING.test(problem));
  const [first] = hiding;
  // Only the first problems are named: among the others may be any.
  if (first === undefined && problemCount === problems.length) return;
  const where = first?.entry === undefined ? `block ${first?.block}` : `entry ${first.entry}`;
  const problem = first === undefined ? `${problemCount} problems` : `${where}: ${first.problem}`;
  refuse('journal_changed_before_sealing', { problem });
}

async function filled(paths: readonly string[]): Promise<string[]> {
  const sizes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ size }) => size,
        (error) => (error.code === 'ENOENT' ? 0 : 1),
      ),
    ),
  );
  return paths.filter((_, index) => (sizes[index] as number) > 0);
}
