// `tollgate keys`: which keys seal what, rotating them while the gateway serves, and destroying what is retired.
import { type Command, Option } from 'commander';
import { withDatabase } from '../gateway/connection.js';
import { openKeyProvider } from '../gateway/key-encryption.js';
import { readSettings } from '../gateway/settings.js';
import type { Database } from '../postgres/database.js';
import { Rotation } from '../vault/rotation.js';
import { id } from './arguments.js';
import { operator } from './operator.js';
import { print, printTable } from './output.js';
import { ProgressBar } from './progress-bar.js';

const json = () => new Option('--json', 'print JSON');

function rotating<Result>(work: (rotation: Rotation) => Promise<Result>): Promise<Result> {
  const settings = readSettings();
  return withDatabase(settings, async (database: Database) => {
    const provider = await openKeyProvider(settings, database);
    return work(new Rotation(database, provider, operator()));
  });
}

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('the keys that seal card data');
  keys
    .command('status')
    .description('show how many rows each version of each merchant’s data key seals')
    .addOption(json())
    .action(async (options) => printTable(options, await rotating((rotation) => rotation.status())));
  keys
    .command('rotate')
    .description(
      'make new data keys and seal everything anew, while the gateway serves; can be interrupted and run again',
    )
    .option('--merchant <id>', 'only this merchant', id)
    .option(
      '--key-encryption-key',
      'renew the key-encryption key instead: data keys are wrapped anew, card data is not touched',
    )
    .addOption(json())
    .action(async (options) => {
      if (options.keyEncryptionKey) {
        const dataKeys = await rotating((rotation) => rotation.rewrap());
        print(
          options,
          { dataKeys },
          `${dataKeys} data keys are wrapped under the current key-encryption key.`,
        );
        return;
      }
      let bar: { merchantId: number; shown: ProgressBar } | undefined;
      const result = await rotating((rotation) =>
        rotation.rotate(options.merchant, ({ merchantId, done, total }) => {
          if (bar?.merchantId !== merchantId) {
            bar?.shown.end();
            bar = { merchantId, shown: new ProgressBar(`merchant ${merchantId}`) };
          }
          bar.shown.show(done, total);
        }),
      );
      bar?.shown.end();
      print(
        options,
        result,
        `${result.rows} rows of ${result.merchants} merchants are sealed under new keys.`,
      );
    });
  keys
    .command('destroy')
    .description('destroy a retired version for good, once nothing is sealed under it')
    .requiredOption('--merchant <id>', 'the merchant', id)
    .requiredOption('--version <version>', 'the version', id)
    .addOption(json())
    .action(async (options) => {
      const { merchant, version } = options as { merchant: number; version: number };
      await rotating((rotation) => rotation.destroy(merchant, version));
      print(
        options,
        { merchant, version, destroyed: true },
        `Version ${version} of merchant ${merchant} is destroyed.`,
      );
    });
}
