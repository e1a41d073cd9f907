// Data keys for a command: a seal that does not open during the command is in the journal when it ends.
import type { Database } from '../../postgres/database.js';
import { BrokenSeals } from './broken-seals.js';
import type { KeyProvider } from './key-provider.js';
import { DataKeys, type OnBroken } from './keys.js';

export function withJournalledKeys<Result>(
  database: Database,
  operator: string,
  provider: KeyProvider,
  work: (keys: DataKeys) => Promise<Result>,
): Promise<Result> {
  return withJournalledSeals(database, operator, (onBroken) =>
    work(new DataKeys(database, provider, onBroken)),
  );
}

/** The same for callers that make their own `DataKeys`. */
export async function withJournalledSeals<Result>(
  database: Database,
  operator: string,
  work: (onBroken: OnBroken) => Promise<Result>,
): Promise<Result> {
  const seals = new BrokenSeals({ database, actor: operator, onBroken: () => {}, onUnjournalled: () => {} });
  try {
    return await work(seals.report);
  } finally {
    await seals.written();
  }
}
