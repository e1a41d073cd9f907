// `tollgate merchant`: merchants are who payments are for.
import type { Command } from 'commander';
import {
  addMerchant,
  listMerchants,
  type MerchantChange,
  type NewMerchant,
  setMerchant,
} from '../admin/merchants.js';
import type { MerchantId } from '../values/ids.js';
import { days, id, manyDays } from './arguments.js';
import { operate } from './operator.js';
import { printing } from './output.js';

const CARD_DAYS = 'how long card payments can be refunded; then their cards are destroyed';

export function addMerchantCommands(program: Command): void {
  const merchant = program.command('merchant').description('merchants are who payments are for');
  printing(
    merchant
      .command('add')
      .argument('<name>', 'what it is called')
      .description('add a merchant')
      .requiredOption('--organisation <id>', 'the organisation that owns it', id)
      .option('--vault', 'with the vault product')
      .option(
        '--live',
        'for real payments, by live links only; without it the merchant is test, and stays so',
      )
      .option('--preauthorisation-days <days>', 'how long a preauthorisation can be completed', days, 7)
      .option('--card-days <days>', CARD_DAYS, manyDays, 120),
    async (name: string, options: NewMerchant & { organisation: number }) => {
      const added = await operate((database, operator) =>
        addMerchant(database, operator, options.organisation, name, options),
      );
      return { value: added, sentence: `Merchant ${added.id} (${added.name}) added, ${added.mode}.` };
    },
  );
  printing(
    merchant
      .command('list')
      .description('list the merchants')
      .option('--organisation <id>', 'only of this organisation', id),
    async ({ organisation }) => ({
      rows: await operate((database) => listMerchants(database, organisation)),
    }),
  );
  printing(
    merchant
      .command('set')
      .argument('<id>', 'the merchant', id)
      .description('change a merchant')
      .option('--vault', 'give it the vault product')
      .option('--no-vault', 'take the vault product away')
      .option('--name <name>', 'rename it')
      .option('--preauthorisation-days <days>', 'how long a preauthorisation can be completed', days)
      .option('--card-days <days>', CARD_DAYS, manyDays),
    async (merchantId: MerchantId, options: MerchantChange, command: Command) => {
      // Commander sets `vault` to true where `--no-vault` exists and neither was given.
      const vault = command.getOptionValueSource('vault') === 'cli' ? options.vault : undefined;
      const changed = await operate((database, operator) =>
        setMerchant(database, operator, merchantId, { ...options, vault }),
      );
      const has = changed.vault ? 'has' : 'does not have';
      return { value: changed, sentence: `Merchant ${changed.id} (${changed.name}) ${has} the vault.` };
    },
  );
}
