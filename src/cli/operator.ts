// Who runs a command, and on which database.
import { userInfo } from 'node:os';
import type { WebhookMeans } from '../admin/webhooks.js';
import { withDatabase } from '../gateway/connection.js';
import { openKeyProvider } from '../gateway/key-encryption.js';
import { readSettings } from '../gateway/settings.js';
import type { Database } from '../postgres/database.js';
import type { KeyProvider } from '../vault/key-provider.js';
import { readNetworks } from '../webhooks/addresses.js';

/** Does an operator's work on the database that the settings name. `operator` is the name for the journal. */
export function operate<Result>(
  work: (database: Database, operator: string) => Promise<Result>,
): Promise<Result> {
  return withDatabase(readSettings(), (database) => work(database, operatorName()));
}

/** The same with what it takes to seal the secrets of webhooks, and to send one. */
export function operateWebhooks<Result>(
  work: (database: Database, operator: string, means: WebhookMeans) => Promise<Result>,
): Promise<Result> {
  const { webhookNetworks, webhookTimeoutMs: timeoutMs } = readSettings();
  const networks = readNetworks(webhookNetworks);
  return operateWithKey((database, operator, provider) =>
    work(database, operator, { provider, networks, timeoutMs }),
  );
}

/** The same with the key-encryption key that the settings name, if it is the one of this database. */
export function operateWithKey<Result>(
  work: (database: Database, operator: string, provider: KeyProvider) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings();
  return withDatabase(settings, async (database) =>
    work(database, operatorName(), await openKeyProvider(settings, database)),
  );
}

function operatorName(): string {
  try {
    return `operator:${userInfo().username}`;
  } catch {
    // A user without a name, as in some containers.
    return `operator:${process.getuid?.() ?? 'unknown'}`;
  }
}
