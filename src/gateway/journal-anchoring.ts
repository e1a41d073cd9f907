// Anchors the journal while the gateway serves: once a minute, at the start, and at the stop.
import type { Logger } from 'pino';
import type { Figures } from '../http/observability/metrics.js';
import { JournalAnchor } from '../journal/anchor.js';
import { ChainKey } from '../journal/blocks.js';
import { signedCheckpoint } from '../journal/checkpoints.js';
import { Database } from '../postgres/database.js';
import { journalKey } from './callers.js';
import { reasonOf } from './database/connection.js';
import { Loop } from './loop.js';
import { openKeyProvider } from './settings/key-encryption.js';
import type { Settings } from './settings/settings.js';

const ANCHOR_EVERY_MS = 60_000;

export interface JournalAnchoring {
  readonly figures: Figures;
  /** Anchors what has come last. */
  close(): Promise<void>;
}

/** Once for a gateway, however many workers it has. Undefined if the settings name no anchor. */
export async function startAnchoring(
  settings: Settings,
  databaseUrl: string,
  log: Logger,
): Promise<JournalAnchoring | undefined> {
  if (settings.journalAnchors.length === 0) return undefined;
  const database = new Database(databaseUrl, { maxConnections: 1, applicationName: 'tollgate-anchor' });
  try {
    const key = new ChainKey(await journalKey(database, await openKeyProvider(settings, database)));
    const anchor = new JournalAnchor(settings.journalAnchors, () => signedCheckpoint(database, key), {
      onFailing: (destination, reason) =>
        log.error({ destination, reason: reasonOf(reason) }, 'the journal cannot be anchored; tried again'),
      onWorking: (destination) => log.warn({ destination }, 'the journal is anchored again'),
    });
    // A lost database is said elsewhere.
    const loop = new Loop(
      () => anchor.run(),
      ANCHOR_EVERY_MS,
      () => {},
    ).start();
    return {
      get figures() {
        return { journalUnanchored: [[[], anchor.behindMs / 1_000]] } as Figures;
      },
      close: async () => {
        await loop.stop();
        await anchor.run().catch(() => {});
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
