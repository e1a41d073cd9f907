// `tollgate merchant`: merchants are who payments are for.
import type { Command } from 'commander';
import {
  addMerchant,
  listMerchants,
  type MerchantChange,
  type NewMerchant,
  resumeMerchant,
  setMerchant,
  suspendMerchant,
} from '../../organisations/merchants.js';
import type { MerchantId } from '../../values/ids.js';
import { days, id, manyDays } from '../arguments.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';

type GivenChange = Omit<MerchantChange, 'acquirer'> & { readonly acquirer: string | false };

const CARD_DAYS = 'how long card payments can be refunded; then their cards are destroyed';
const ACCEPTOR_ID = 'what its acquirer knows it by: up to 15 characters';
const TERMINALS =
  'its terminals at its acquirer, up to 8 characters each, with commas between; payments go over them in turns';
const CATEGORY_CODE = 'its merchant category code: four digits';

function terminals(text: string): string[] {
  return text.split(',').map((terminal) => terminal.trim());
}

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
      .option('--card-days <days>', CARD_DAYS, manyDays, 120)
      .option(
        '--acquirer <name>',
        'the link over which its cards are paid (default: simulator for a test merchant, none for a live one)',
      )
      .option('--acceptor-id <id>', ACCEPTOR_ID)
      .option('--terminals <list>', TERMINALS, terminals)
      .option('--category-code <mcc>', CATEGORY_CODE),
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
      .option('--card-days <days>', CARD_DAYS, manyDays)
      .option('--acquirer <name>', 'the link over which its cards are paid from now on')
      .option('--no-acquirer', 'take no cards any more')
      .option('--acceptor-id <id>', ACCEPTOR_ID)
      .option('--terminals <list>', TERMINALS, terminals)
      .option('--category-code <mcc>', CATEGORY_CODE),
    async (merchantId: MerchantId, options: GivenChange, command: Command) => {
      // Commander sets `vault` and `acquirer` to true where `--no-…` exists and neither was given.
      const given = (name: string) => command.getOptionValueSource(name) === 'cli';
      const vault = given('vault') ? options.vault : undefined;
      const acquirer = given('acquirer') ? options.acquirer || null : undefined;
      const changed = await operate((database, operator) =>
        setMerchant(database, operator, merchantId, { ...options, vault, acquirer }),
      );
      const has = changed.vault ? 'has' : 'does not have';
      const sentence = `Merchant ${changed.id} (${changed.name}) ${has} the vault.`;
      if (acquirer === undefined) return { value: changed, sentence };
      const over = changed.acquirer === null ? 'has no acquirer' : `pays over ${changed.acquirer}`;
      return { value: changed, sentence: `${sentence} It ${over}.` };
    },
  );
  printing(
    merchant
      .command('suspend')
      .argument('<id>', 'the merchant', id)
      .description('create and change nothing for a merchant, within two seconds; it can be looked up'),
    async (merchantId: number) => {
      const suspended = await operate((database, operator) =>
        suspendMerchant(database, operator, merchantId),
      );
      return {
        value: suspended,
        sentence: `Merchant ${suspended.id} (${suspended.name}) is suspended.`,
      };
    },
  );
  printing(
    merchant
      .command('resume')
      .argument('<id>', 'the merchant', id)
      .description('end the suspension of a merchant, within two seconds'),
    async (merchantId: number) => {
      const resumed = await operate((database, operator) => resumeMerchant(database, operator, merchantId));
      return { value: resumed, sentence: `Merchant ${resumed.id} (${resumed.name}) is not suspended.` };
    },
  );
}
