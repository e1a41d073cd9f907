// A journal on a database of its own, with its chain, and somebody who writes to the database behind the gateway's back.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { ChainKey } from '../../src/journal/blocks.js';
import { JournalChain } from '../../src/journal/chain.js';
import { EntrySigner, setSigner } from '../../src/journal/entry-signer.js';
import { journal } from '../../src/journal/journal.js';
import { Database } from '../../src/postgres/database.js';
import { testDatabase } from '../../testkit/gateway.js';

export class ChainedJournal {
  /** What chains have found: entries that Tollgate did not write, and ends that were cut off. */
  readonly foreign: number[] = [];
  readonly cuts: object[] = [];

  private constructor(
    readonly key: Buffer,
    readonly database: Database,
    /** An intruder who writes to the database, and can bypass triggers. */
    readonly intruder: pg.Client,
  ) {}

  /** For the test that runs. */
  static async open(): Promise<ChainedJournal> {
    const own = await testDatabase();
    const key = randomBytes(32);
    const database = new Database(own.url, { maxConnections: 3 });
    setSigner(database, new EntrySigner(key, 'here'));
    const intruder = new pg.Client(own.url);
    await intruder.connect();
    await intruder.query('SET session_replication_role = replica');
    onTestFinished(async () => {
      await intruder.end();
      await database.close();
      await own.drop();
    });
    return new ChainedJournal(key, database, intruder);
  }

  /** Another process that writes to the same journal. */
  anotherWriter(name: string): Database {
    const writer = new Database(this.database.url, { maxConnections: 3 });
    setSigner(writer, new EntrySigner(this.key, name));
    onTestFinished(() => writer.close());
    return writer;
  }

  chain(database = this.database): JournalChain {
    return new JournalChain(database, new ChainKey(this.key), {
      onForeign: (ids) => this.foreign.push(...ids),
      onCut: (cut) => this.cuts.push(cut),
    });
  }

  write(detail: string): Promise<void> {
    return journal(this.database, { actor: 'operator:test', action: 'clock.advanced', detail });
  }

  /** So many entries, in blocks of three. Their numbers begin at 1. */
  async filled(count: number, chain = this.chain()): Promise<JournalChain> {
    for (let id = 1; id <= count; id += 1) {
      await this.write(`number ${id}`);
      if (id % 3 === 0) await chain.run();
    }
    return chain;
  }
}
