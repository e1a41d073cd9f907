// Generates the demo's history while the gateway is already serving: a newcomer's first purchase does not wait for it.
import type { Logger } from 'pino';
import { fillHistory } from '../demo/history.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { Database } from '../postgres/database.js';
import { Refusal } from '../values/refusal.js';
import { credentialKey, journalKey } from './callers.js';
import type { Logins } from './database/connection.js';
import { openKeyProvider } from './settings/key-encryption.js';
import type { Settings } from './settings/settings.js';

const ACTOR = 'operator:demo';

/** Ends when the history is complete or has failed. A failure does not stop the gateway. */
export async function makeHistory(
  settings: Settings,
  logins: Pick<Logins, 'operating' | 'serving'>,
  log: Logger,
): Promise<void> {
  const { demo, demoDays: days, simulatorLedger: ledger } = settings;
  if (!demo || days === 0) return;
  const options = { maxConnections: 2, applicationName: 'tollgate-demo', patient: true };
  const [database, serving] = [
    new Database(logins.operating, options),
    new Database(logins.serving, options),
  ];
  try {
    const provider = await openKeyProvider(settings, database);
    const signer = new EntrySigner(await journalKey(database, provider));
    for (const each of [database, serving]) setSigner(each, signer);
    const key = await credentialKey(database, provider);
    // Nothing that changes by itself: the demo's clock can be moved back.
    const wish = { provider, key, ledger, days, unfinished: false, serving };
    const filled = await fillHistory(database, ACTOR, wish);
    const { transactions, customers } = filled;
    if (transactions > 0) log.info({ transactions, customers }, 'demo filled with made-up trade');
  } catch (error) {
    if (error instanceof Refusal) log.info({ reason: error.message }, 'demo not filled with made-up trade');
    else {
      const { name, code } = error as { name?: string; code?: string };
      log.warn({ name, code }, 'demo not filled with made-up trade');
    }
  } finally {
    await Promise.all([database.close(), serving.close()]);
  }
}
