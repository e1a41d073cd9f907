// `tollgate keys`: which keys seal what, rotating them while the gateway serves, and destroying what is retired.
import type { Command } from 'commander';
import { destroyKey, rewrapKeys, rotateKeys, showKeys } from '../admin/keys.js';
import type { MerchantId } from '../values/ids.js';
import type { RotationProgress } from '../vault/rotation.js';
import { id } from './arguments.js';
import { operateWithKey } from './operator.js';
import { type Output, printing } from './output.js';
import { ProgressBar } from './progress-bar.js';

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('the keys that seal card data');
  printing(
    keys.command('status').description('show how many rows each version of each merchant’s data key seals'),
    async () => ({ rows: await operateWithKey(showKeys) }),
  );
  printing(
    keys
      .command('rotate')
      .description(
        'make new data keys and seal everything anew, while the gateway serves; can be interrupted and run again',
      )
      .option('--merchant <id>', 'only this merchant', id)
      .option(
        '--key-encryption-key',
        'renew the key-encryption key instead: data keys are wrapped anew, card data is not touched',
      ),
    async ({ merchant, keyEncryptionKey }) => (keyEncryptionKey ? rewrap() : rotate(merchant)),
  );
  printing(
    keys
      .command('destroy')
      .description('destroy a retired version for good, once nothing is sealed under it')
      .requiredOption('--merchant <id>', 'the merchant', id)
      .requiredOption('--version <version>', 'the version', id),
    async ({ merchant, version }) => {
      await operateWithKey((database, operator, provider) =>
        destroyKey(database, operator, provider, { merchant, version }),
      );
      return {
        value: { merchant, version, destroyed: true },
        sentence: `Version ${version} of merchant ${merchant} is destroyed.`,
      };
    },
  );
}

async function rewrap(): Promise<Output> {
  const dataKeys = await operateWithKey(rewrapKeys);
  return {
    value: { dataKeys },
    sentence: `${dataKeys} data keys are wrapped under the current key-encryption key.`,
  };
}

/** With a bar for each merchant. */
async function rotate(merchant: number | undefined): Promise<Output> {
  let bar: { merchantId: MerchantId; shown: ProgressBar } | undefined;
  const progress = ({ merchantId, done, total }: RotationProgress) => {
    if (bar?.merchantId !== merchantId) {
      bar?.shown.end();
      bar = { merchantId, shown: new ProgressBar(`merchant ${merchantId}`) };
    }
    bar.shown.show(done, total);
  };
  const result = await operateWithKey((database, operator, provider) =>
    rotateKeys(database, operator, provider, { merchant, progress }),
  );
  bar?.shown.end();
  return {
    value: result,
    sentence: `${result.rows} rows of ${result.merchants} merchants are sealed under new keys.`,
  };
}
