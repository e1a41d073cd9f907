// `tollgate keys`: which keys seal what, rotating them while the gateway serves, and destroying what is retired.
import { type Command, Option } from 'commander';
import { readSettings, SettingsError } from '../../gateway/settings/settings.js';
import { destroyKey, rewrapKeys, rotateKeys, showKeys } from '../../installation/keys.js';
import { type Verified, verifySeals } from '../../installation/seals.js';
import type { MerchantId } from '../../values/ids.js';
import { table } from '../../values/text-table.js';
import type { RotationProgress } from '../../vault/keys/rotation.js';
import { id } from '../arguments.js';
import { operateWithKey } from '../operator.js';
import { type Output, printing } from '../output.js';
import { ProgressBar } from '../progress-bar.js';

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('the keys that seal card data');
  printing(
    keys
      .command('status')
      .description(
        'show how many rows each version of each merchant’s data key seals, and whether it is due',
      ),
    async () => {
      const { dataKeyLimits } = readSettings();
      return { rows: await operateWithKey((database) => showKeys(database, dataKeyLimits)) };
    },
  );
  printing(
    keys
      .command('rotate')
      .description(
        'make new data keys and seal everything anew, while the gateway serves; can be interrupted and run again',
      )
      .option('--merchant <id>', 'only this merchant', id)
      .addOption(
        new Option(
          '--key-encryption-key',
          'renew the key-encryption key instead, of all merchants: data keys are wrapped anew, card data is not touched',
        ).conflicts('merchant'),
      ),
    async ({ merchant, keyEncryptionKey }) => (keyEncryptionKey ? rewrap() : rotate(merchant)),
  );
  printing(
    keys
      .command('move')
      .description(
        'wrap everything under the key of TOLLGATE_KEY_PROVIDER that TOLLGATE_PREVIOUS_KEY_PROVIDER has wrapped, while the gateway serves',
      ),
    move,
  );
  printing(
    keys
      .command('verify')
      .description(
        'open every seal and hold every token against the journal: whether anybody has changed them in the database; ends with 1 where somebody has',
      )
      .option('--merchant <id>', 'only this merchant', id),
    async ({ merchant }: { merchant?: number }) => {
      const verified = await operateWithKey((database, operator, provider) =>
        verifySeals(database, operator, provider, merchant),
      );
      if (verified.problems.length > 0) process.exitCode = 1;
      return { value: verified, sentence: sentencesOn(verified) };
    },
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

function sentencesOn({ tokens, transactions, webhooks, directDebits, problems }: Verified): string {
  const looked = `${tokens} tokens, ${transactions} transactions, ${webhooks} webhooks and ${directDebits} direct debits that wait were looked at.`;
  if (problems.length === 0) return `${looked}\nAll of them are as the gateway has left them.`;
  return `${looked}\n${problems.length} are not as the gateway has left them:\n${table(problems)}`;
}

async function rewrap(): Promise<Output> {
  const dataKeys = await operateWithKey(rewrapKeys);
  return {
    value: { dataKeys },
    sentence: `${dataKeys} data keys are wrapped under the current key-encryption key.`,
  };
}

/** What is wrapped by both opens meanwhile: it can be interrupted and run again. */
async function move(): Promise<Output> {
  const { keyEncryption, previousKeyEncryption } = readSettings();
  if (previousKeyEncryption === undefined)
    throw new SettingsError(
      'TOLLGATE_PREVIOUS_KEY_PROVIDER is needed with keys move: the provider that is to be left',
    );
  const dataKeys = await operateWithKey(rewrapKeys);
  const [from, to] = [previousKeyEncryption.provider, keyEncryption.provider];
  return {
    value: { from, to, dataKeys },
    sentence: `${dataKeys} data keys are wrapped by ${to}. Once every process runs with it, unset TOLLGATE_PREVIOUS_KEY_PROVIDER, and destroy the key of ${from} when no backup needs it.`,
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
  const done = `${result.rows} rows of ${result.merchants} merchants are sealed under new keys.`;
  if (result.broken === 0) return { value: result, sentence: done };
  process.exitCode = 1;
  const left = `${result.broken} do not open and were left as they are; \`tollgate keys verify\` names them.`;
  return { value: result, sentence: `${done} ${left}` };
}
