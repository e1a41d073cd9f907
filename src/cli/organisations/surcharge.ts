// `tollgate surcharge`: the rules of the surcharge plugin.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { removeSurcharges, setSurcharges, showSurcharges } from '../../organisations/surcharges.js';
import {
  parsePercent,
  SURCHARGE_SCOPES,
  type SurchargeRule,
  type SurchargeScope,
} from '../../plugins/surcharge.js';
import { addDays } from '../../values/time.js';
import { id } from '../arguments.js';
import { repeatable } from '../contradictions.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';

type Scoped = Pick<SurchargeRule, 'scope' | 'thousandths'>;

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
    if (earlier.some((rule) => rule.scope === scope)) {
      throw new InvalidArgumentError(`There are two percentages for ${name}.`);
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

export function addSurchargeCommands(program: Command): void {
  const surcharge = program.command('surcharge').description('a percentage that is added to payments');
  printing(
    surcharge
      .command('set')
      .description(
        'set rules; the most specific one in force applies: card type, then payment method, then default',
      )
      .requiredOption('--merchant <id>', 'the merchant', id)
      .option('--default <percent>', 'for everything that no other rule is for', percent)
      .addOption(
        repeatable(
          new Option(
            '--method <name=percent>',
            'for a payment method, creditcard or bankaccount (may be repeated)',
          ),
        )
          .argParser(scoped('method'))
          .default([]),
      )
      .addOption(
        repeatable(new Option('--card <type=percent>', 'for a card type (may be repeated)'))
          .argParser(scoped('card'))
          .default([]),
      )
      .option('--from <date>', 'the first day, in Sydney', day)
      .option('--until <date>', 'the last day, in Sydney', day)
      .option(
        '--i-may',
        'this live merchant may surcharge eftpos, Visa and Mastercard, whatever their rules in Australia say',
      ),
    async ({ merchant, default: rest, method, card, from, until, iMay: permitted }) => {
      const general: Scoped[] = rest === undefined ? [] : [{ scope: 'default', thousandths: rest }];
      const rules = [...general, ...method, ...card];
      return {
        rows: await operate((database, operator) =>
          setSurcharges(database, operator, merchant, rules, { permitted, from, until }),
        ),
      };
    },
  );
  printing(
    surcharge
      .command('show')
      .description('show the rules of a merchant')
      .requiredOption('--merchant <id>', 'the merchant', id),
    async ({ merchant }) => ({ rows: await operate((database) => showSurcharges(database, merchant)) }),
  );
  printing(
    surcharge
      .command('off')
      .description('take all rules of a merchant away')
      .requiredOption('--merchant <id>', 'the merchant', id),
    async ({ merchant }) => ({
      rows: await operate((database, operator) => removeSurcharges(database, operator, merchant)),
    }),
  );
}
