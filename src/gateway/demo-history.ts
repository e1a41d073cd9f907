// Generates the demo's history while the gateway is already serving: a newcomer's first purchase does not wait for it.
import type { Logger } from 'pino';
import { fillHistory } from '../demo/history.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { Database } from '../postgres/database.js';
import { Refusal } from '../values/refusal.js';
import { credentialKey, journalKey } from './callers.js';
import { openKeyProvider } from './settings/key-encryption.js';
import type { Settings } from './settings/settings.js';

const ACTOR = 'operator:demo';

/** Ends when the history is complete or has failed. A failure does not stop the gateway. */
export async function makeHistory(settings: Settings, url: string, log: Logger): Promise<void> {
  const { demo, demoDays: days, simulatorLedger: ledger } = settings;
  if (!demo || days === 0) return;
  const database = new Database(url, { maxConnections: 2, applicationName: 'tollgate-demo', patient: true });
  try {
    const provider = await openKeyProvider(settings, database);
    setSigner(database, new EntrySigner(await journalKey(database, provider)));
    const key = await credentialKey(database, provider);
    // Nothing that changes by itself: the demo's clock can be moved back.
    const filled = await fillHistory(database, ACTOR, { provider, key, ledger, days, unfinished: false });
    const { transactions, customers } = filled;
    if (transactions > 0) log.info({ transactions, customers }, 'demo filled with made-up trade');
  } catch (error) {
    if (error instanceof Refusal) log.info({ reason: error.message }, 'demo not filled with made-up trade');
    else {
      const { name, code } = error as { name?: string; code?: string };
      log.warn({ name, code }, 'demo not filled with made-up trade');
    }
  } finally {
    await database.close();
  }
}
