// `tollgate distribute`: spreads the transactions of organisations over the servers of a Citus cluster.
import type { Command } from 'commander';
import { withDatabase } from '../../gateway/database/connection.js';
import { readSettings } from '../../gateway/settings/settings.js';
import { DEFAULT_SHARDS, distribute } from '../../installation/distribution.js';
import { shardCount } from '../arguments.js';
import { printing } from '../output.js';

export function addDistributeCommand(program: Command): void {
  printing(
    program
      .command('distribute')
      .description(
        'spread the transactions of organisations over the servers of a Citus cluster; can be run again',
      )
      .option('--shards <count>', 'how many parts, the first time', shardCount, DEFAULT_SHARDS),
    ({ shards }: { shards: number }) =>
      withDatabase(
        readSettings(),
        async (database) => {
          const distributed = await distribute(database, shards);
          const { citus, shards: parts, servers, done } = distributed;
          const state = `Citus ${citus}: ${parts} shards on ${servers} servers.`;
          return { value: distributed, sentence: [...done, state].join('\n') };
        },
        { as: 'migrating' },
      ),
  );
}
