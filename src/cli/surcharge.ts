// `tollgate surcharge`: the rules of the surcharge plugin.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { SurchargePerhapsForbidden, Surcharges, type SurchargeView } from '../admin/surcharges.js';
import { withDatabase } from '../gateway/connection.js';
import { readSettings } from '../gateway/settings.js';
import {
  parsePercent,
  SURCHARGE_SCOPES,
  type SurchargeRule,
  type SurchargeScope,
} from '../plugins/surcharge.js';
import { AdministrationError } from '../values/administration-error.js';
import { addDays } from '../values/sydney.js';
import { id } from './arguments.js';
import { operator } from './operator.js';
import { printTable } from './output.js';

type Scoped = Pick<SurchargeRule, 'scope' | 'thousandths'>;

const json = () => new Option('--json', 'print JSON, errors too');

function percent(text: string): number {
  const thousandths = parsePercent(text);
  if (thousandths === undefined) {
    throw new InvalidArgumentError('It must be a percentage from 0 to 100 with at most three decimals.');
  }
  return thousandths;
}

/** `amex=2.9` of `card`, added to earlier ones. */
function scoped(kind: 'method' | 'card') {
  return (text: string, earlier: readonly Scoped[]): Scoped[] => {
    const [name = '', amount = '', ...rest] = text.split('=');
    const scope = `${kind}:${name}` as SurchargeScope;
    if (rest.length > 0 || !SURCHARGE_SCOPES.includes(scope)) {
      const names = SURCHARGE_SCOPES.filter((each) => each.startsWith(kind)).map((each) =>
        each.slice(kind.length + 1),
      );
      throw new InvalidArgumentError(
        `It must be a name, an equals sign and a percentage; names are ${names.join(', ')}.`,
      );
    }
    return [...earlier, { scope, thousandths: percent(amount) }];
  };
}

function day(text: string): string {
  try {
    if (/^\d{4}-\d\d-\d\d$/.test(text) && addDays(text, 0) === text) return text;
  } catch {
    // Refused below: no such day.
  }
  throw new InvalidArgumentError('It must be a day such as 2026-09-30.');
}

function surcharges(work: (surcharges: Surcharges) => Promise<SurchargeView[]>): Promise<SurchargeView[]> {
  return withDatabase(readSettings(), (database) => work(new Surcharges(database, operator())));
}

function sayingHow(error: unknown): never {
  if (!(error instanceof SurchargePerhapsForbidden)) throw error;
  throw new AdministrationError(`${error.message}; if this merchant may all the same, say so with --i-may`);
}

export function addSurchargeCommands(program: Command): void {
  const surcharge = program.command('surcharge').description('a percentage that is added to payments');
  surcharge
    .command('set')
    .description(
      'set rules; the most specific one in force applies: card type, then payment method, then default',
    )
    .requiredOption('--merchant <id>', 'the merchant', id)
    .option('--default <percent>', 'for everything that no other rule is for', percent)
    .option(
      '--method <name=percent>',
      'for a payment method, creditcard or bankaccount (may be repeated)',
      scoped('method'),
      [],
    )
    .option('--card <type=percent>', 'for a card type (may be repeated)', scoped('card'), [])
    .option('--from <date>', 'the first day, in Sydney', day)
    .option('--until <date>', 'the last day, in Sydney', day)
    .option(
      '--i-may',
      'this live merchant may surcharge eftpos, Visa and Mastercard, whatever their rules in Australia say',
    )
    .addOption(json())
    .action(async (options) => {
      const { from, until } = options as { from?: string; until?: string };
      if (from !== undefined && until !== undefined && from > until) {
        throw new AdministrationError('--from must not be after --until');
      }
      const rules: Scoped[] = [
        ...(options.default === undefined
          ? []
          : [{ scope: 'default' as const, thousandths: options.default }]),
        ...options.method,
        ...options.card,
      ];
      if (rules.length === 0)
        throw new AdministrationError('give at least one of --default, --method and --card');
      const dated = rules.map((rule) => ({ ...rule, from: from ?? null, until: until ?? null }));
      const permitted = options.iMay === true;
      const set = surcharges((all) => all.set(options.merchant, dated, { permitted }));
      printTable(options, await set.catch(sayingHow));
    });
  surcharge
    .command('show')
    .description('show the rules of a merchant')
    .requiredOption('--merchant <id>', 'the merchant', id)
    .addOption(json())
    .action(async (options) => printTable(options, await surcharges((all) => all.show(options.merchant))));
  surcharge
    .command('off')
    .description('take all rules of a merchant away')
    .requiredOption('--merchant <id>', 'the merchant', id)
    .addOption(json())
    .action(async (options) => printTable(options, await surcharges((all) => all.off(options.merchant))));
}
