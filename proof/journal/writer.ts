// A process of `npm run proof journal`: writes entries as fast as it can, and takes its turn at the chain, until it is killed.
import { ChainKey } from '../../src/journal/blocks.js';
import { JournalChain } from '../../src/journal/chain.js';
import { EntrySigner, setSigner } from '../../src/journal/entry-signer.js';
import { journal, journalAll } from '../../src/journal/journal.js';
import { Database } from '../../src/postgres/database.js';
import { say } from '../../testkit/report.js';

/** Said once the first entries are stored. */
const WRITING = 'writing';

const [, , url = '', hexKey = ''] = process.argv;
const key = Buffer.from(hexKey, 'hex');
const database = new Database(url, { maxConnections: 4 });
setSigner(database, new EntrySigner(key, 'writer'));
const entry = (detail: string) =>
  ({ actor: 'operator:proof', action: 'clock.advanced', detail: `${process.pid}: ${detail}` }) as const;

const chain = new JournalChain(database, new ChainKey(key), {
  onForeign: (ids) => say(`foreign ${ids.join(' ')}`),
  onCut: (cut) => say(`cut ${JSON.stringify(cut)}`),
});

async function chaining(): Promise<never> {
  for (;;) await chain.run();
}

/** One by one, in batches, and in transactions that last. */
async function writing(): Promise<never> {
  for (let count = 0; ; count += 1) {
    await journal(database, entry(`${count}`));
    await journalAll(
      database,
      Array.from({ length: 50 }, (_, place) => entry(`${count}, ${place}`)),
    );
    if (count === 0) say(WRITING);
    await database.transaction(async (connection) => {
      await journal(connection, entry(`${count}, late`));
      await journal(database, entry(`${count}, early`));
    });
  }
}

await Promise.all([chaining(), writing()]);
