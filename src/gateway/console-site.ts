// The console of a gateway: a few database sessions of its own, with the rights of operators' commands.
import type { Logger } from 'pino';
import { Latency } from '../console/latency.js';
import { Live } from '../console/live.js';
import { readPageFiles } from '../console/page-files.js';
import { ROUTES } from '../console/routes/routes.js';
import { ConsoleSite } from '../console/site.js';
import { ClientAddresses } from '../http/authentication.js';
import type { Figures } from '../http/observability/metrics.js';
import { KeyRotations } from '../installation/keys.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { Challenges } from '../operators/sign-in/challenges.js';
import { Passwords } from '../operators/sign-in/password.js';
import type { IdentityProvider } from '../operators/sign-in/provider.js';
import { TotpSeals } from '../operators/sign-in/totp.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { requestMeans } from '../payments/requests/operator-requests.js';
import { Database } from '../postgres/database.js';
import { isLoopback, Networks } from '../values/network.js';
import { PROGRAM_VERSION } from '../values/program.js';
import { readNetworks } from '../webhooks/addresses.js';
import { credentialKey, journalKey, watchSeals } from './callers.js';
import { reasonOf } from './database/connection.js';
import { openKeyProvider } from './settings/key-encryption.js';
import type { Settings } from './settings/settings.js';
import type { ConsoleSettings } from './settings/watching-settings.js';

/** Operators wait for each other rather than take sessions from payments, and whoever signs in does not wait for those who read. */
const SESSIONS = 3;
const READING_SESSIONS = 3;

export interface OpenConsole {
  readonly site: ConsoleSite;
  /** With the rights of operators' commands. */
  readonly database: Database;
  readonly key: CredentialKey;
  /** What it has found of operators, sessions and approvals, beside what gateways find. */
  figures(): Figures;
  close(): Promise<void>;
}

export interface ConsoleStart {
  readonly settings: Settings;
  /** The login of operators' commands. */
  readonly operatingUrl: string;
  readonly log: Logger;
  /** Where payers find their pages, if there are any. */
  readonly checkoutUrl: string | undefined;
  /** The gateways' metrics. */
  readonly figures: () => Promise<readonly Figures[]>;
}

/** Undefined if the settings want no console. */
export async function openConsole({
  settings,
  operatingUrl,
  log,
  checkoutUrl,
  figures,
}: ConsoleStart): Promise<OpenConsole | undefined> {
  const { console: wanted, demo, databaseTimeoutMs, trustedProxies } = settings;
  if (wanted === undefined) return undefined;
  const options = {
    applicationName: 'tollgate-console',
    answerLimitMs: Math.max(databaseTimeoutMs, 10_000),
  };
  const database = new Database(operatingUrl, { ...options, maxConnections: SESSIONS });
  const readDatabase = new Database(operatingUrl, { ...options, maxConnections: READING_SESSIONS });
  try {
    const provider = await openKeyProvider(settings, database);
    const ofJournal = await journalKey(database, provider);
    const seals = watchSeals(database, log);
    setSigner(database, new EntrySigner(ofJournal, undefined, seals));
    const key = await credentialKey(database, provider);
    const parts = {
      database,
      readDatabase,
      key,
      journalKey: ofJournal,
      seals,
      provider,
      requests: requestMeans(key, settings),
      acquirerDeadlineMs: settings.acquirerDeadlineMs,
      settings,
      webhooks: { networks: readNetworks(settings.webhookNetworks), timeoutMs: settings.webhookTimeoutMs },
      rotations: new KeyRotations((error) =>
        log.error({ reason: reasonOf(error) }, 'a key rotation started by an operator failed'),
      ),
      passwords: new Passwords(key),
      totp: new TotpSeals(key),
      challenges: new Challenges(key),
      identityProvider: await providerOf(wanted, key),
      version: PROGRAM_VERSION,
      demo,
      publicUrl: wanted.publicUrl,
      checkoutUrl,
      onLoopback: isLoopback(wanted.host),
      clientAddresses: new ClientAddresses(Networks.read(trustedProxies ?? '')),
      latency: new Latency(figures),
      live: new Live(database, (error) => {
        const { name, code } = error as { name?: string; code?: string };
        log.warn({ name, code }, 'live updates to consoles failed');
      }),
      log,
    };
    const site = new ConsoleSite(parts, await readPageFiles(), ROUTES);
    return {
      site,
      database,
      key,
      // guard(metrics: broken seals that the console finds are counted): [['row'], seals.count] ⇒ [['row'], 0 * seals.count]
      figures: () => ({
        brokenSeals: [
          [['row'], seals.count],
          [['journal'], seals.forgedEntries],
        ],
      }),
      close: async () => {
        await site.close();
        await Promise.all([database.close(), readDatabase.close()]);
      },
    };
  } catch (error) {
    await Promise.all([database.close(), readDatabase.close()]);
    throw error;
  }
}

/** Loaded only on use. */
async function providerOf(
  { identityProvider }: ConsoleSettings,
  key: CredentialKey,
): Promise<IdentityProvider | undefined> {
  if (identityProvider === undefined) return undefined;
  const { IdentityProvider } = await import('../operators/sign-in/provider.js');
  return new IdentityProvider(identityProvider, key);
}
