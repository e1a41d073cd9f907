// Who may call a gateway: opens the users' key, and reports users whose row does not match its seal.
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { LogThrottle } from '../http/observability/log-throttle.js';
import { ChainKey } from '../journal/blocks.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { journal } from '../journal/journal.js';
import { SealWatch } from '../journal/seal-watch.js';
import { Callers } from '../organisations/users/callers.js';
import { CredentialKey } from '../organisations/users/credentials.js';
import { isUndefined, type Queryable } from '../postgres/database.js';
import { makeInstallationKey, openInstallationKey } from '../vault/keys/installation-keys.js';
import { type KeyProvider, KeyUnavailable } from '../vault/keys/key-provider.js';
import type { Databases } from './database/databases.js';
import { openKeyProvider } from './settings/key-encryption.js';
import type { Settings } from './settings/settings.js';
import type { Vault } from './vault.js';

/** How many broken users are logged one by one within a second. */
const MOST_TOLD = 10;

/** `onBroken`: called for every user that does not match its seal. */
export function openCallers(
  { vital }: Databases,
  key: CredentialKey,
  log: Logger,
  onBroken: () => void,
): Callers {
  const broken = new LogThrottle<{ readonly username: string; readonly how: string }>(
    MOST_TOLD,
    ({ username, how }, count) =>
      log.error({ username, how, count }, 'the seal of a user is broken: refused'),
    (count) => log.error({ count }, 'the seals of more users are broken'),
  );
  return new Callers(vital, key, {
    onBrokenSeal: (username, how) => {
      onBroken();
      broken.add(`${username} ${how}`, { username, how });
    },
  });
}

/** For a serving process. */
export async function openCredentialKey({ vital }: Databases, { provider }: Vault): Promise<CredentialKey> {
  return new CredentialKey(await openInstallationKey(vital, provider, 'credentials'), (installation) =>
    openInstallationKey(vital, provider, `credentials of ${installation}`),
  );
}

/** The key of the journal, for a process that serves: the process signs its entries and takes turns at extending the chain. */
export async function openJournal(
  databases: Databases,
  { provider }: Vault,
  watch: SealWatch,
): Promise<ChainKey> {
  const key = await openInstallationKey(databases.others, provider, 'journal');
  const signer = new EntrySigner(key, undefined, watch);
  for (const database of databases.all) setSigner(database, signer);
  return new ChainKey(key);
}

/** Logs rows that are not as they were sealed, and journals each the first time. */
export function watchSeals(database: Queryable, log: Pick<Logger, 'error'>): SealWatch {
  return new SealWatch(
    ({ subject, problem }, isFirst) => {
      log.error({ subject, problem }, 'a row is not as it was sealed: not used');
      if (!isFirst) return;
      const entry = {
        actor: 'gateway:seals',
        action: 'seal.broken',
        detail: `${subject}: ${problem}`,
      } as const;
      journal(database, entry).catch(() =>
        log.error('a row that is not as it was sealed could not be journalled'),
      );
    },
    (entry) => log.error({ entry }, 'a forged journal entry was passed over'),
  );
}

/** For operators' commands that read or write the journal. Creates the key if there is none. */
export async function journalKey(database: Queryable, provider: KeyProvider): Promise<Buffer> {
  return makeInstallationKey(database, provider, 'journal');
}

/**
 * For a command that may have to do without the key, or works on the schema of an earlier release.
 */
export async function signerIfAvailable(
  settings: Settings,
  database: Queryable,
): Promise<EntrySigner | undefined> {
  try {
    const provider = await openKeyProvider(settings, database);
    return new EntrySigner(await journalKey(database, provider), hostname());
  } catch (error) {
    if (error instanceof KeyUnavailable || isUndefined(error)) return undefined;
    throw error;
  }
}

/** For operators' commands on users. Creates the key if there is none. */
export async function credentialKey(database: Queryable, provider: KeyProvider): Promise<CredentialKey> {
  return new CredentialKey(await makeInstallationKey(database, provider, 'credentials'), (installation) =>
    openInstallationKey(database, provider, `credentials of ${installation}`),
  );
}
