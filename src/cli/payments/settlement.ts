// `tollgate settlement`: what a day comes to, and an acquirer's file held against it.
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type DifferencesWish,
  type DifferenceView,
  listDifferences,
  lookAtDay,
  lookAtDifference,
} from '../../settlement/difference-tasks.js';
import { isOpen, type Reconciliation } from '../../settlement/reconciliation.js';
import type { SettlementReport } from '../../settlement/report.js';
import {
  reconcileAndKeep,
  type SettlementWish,
  shownReconciliation,
  showSettlement,
} from '../../settlement/settlement-tasks.js';
import { moneyText } from '../../values/money.js';
import { refuse } from '../../values/refusal.js';
import { isDay } from '../../values/time.js';
import { id, wholeNumber } from '../arguments.js';
import { operate } from '../operator.js';
import { type Output, printing } from '../output.js';

function day(text: string): string {
  if (!isDay(text)) throw new InvalidArgumentError('It must be a day, such as 2026-11-16.');
  return text;
}

interface LookedAtOptions {
  readonly note: string;
  readonly date?: string;
  readonly acquirer?: string;
}

export function addSettlementCommands(program: Command): void {
  const settlement = program
    .command('settlement')
    .description('what a day comes to, and whether the acquirer says the same');
  printing(
    settlement
      .command('show')
      .description('show how much settles on a day; a closed day does not change any more')
      .requiredOption('--date <day>', 'the settlement day, in Sydney', day)
      .option('--merchant <id>', 'only this merchant', id)
      .addOption(new Option('--mode <mode>', 'only merchants of this mode').choices(['test', 'live']))
      .option('--csv <file>', 'also write a line for each transaction; never overwrites another file'),
    async ({ csv: path, ...wish }: Omit<SettlementWish, 'csv'> & { csv?: string }) =>
      shown(
        await operate((database, operator) =>
          showSettlement(database, { ...wish, csv: path === undefined ? undefined : { path, operator } }),
        ),
      ),
  );
  printing(
    settlement
      .command('reconcile')
      .argument('<file>', 'the acquirer’s CSV: reference,transaction_type,amount_cents,currency')
      .description('hold an acquirer’s file against a day; ends with 1 where anything is open')
      .requiredOption('--acquirer <name>', 'the link to the acquirer')
      .requiredOption('--date <day>', 'the settlement day, in Sydney', day),
    async (path: string, { acquirer, date }: { acquirer: string; date: string }) => {
      const progress = (lines: number) => {
        if (process.stderr.isTTY) process.stderr.write(`\r${lines} lines`);
      };
      const result = await operate((database, operator) =>
        reconcileAndKeep(database, operator, { path, acquirer, date, progress }),
      );
      if (process.stderr.isTTY) process.stderr.write('\n');
      if (isOpen(result)) process.exitCode = 1;
      return { value: shownReconciliation(result), sentence: sentencesOn(result).join('\n') };
    },
  );
  printing(
    settlement
      .command('differences')
      .description(
        'list what reconciling has found and nobody has looked at, with what it may mean and what to do',
      )
      .option('--date <day>', 'only of this settlement day', day)
      .option('--acquirer <name>', 'only of this link')
      .option('--all', 'also those that somebody has looked at, and those that are gone')
      .option('--limit <count>', 'so many at most', (text: string) => wholeNumber(text, 10_000)),
    async (wish: DifferencesWish) => {
      const differences = await operate((database) => listDifferences(database, wish));
      return { value: differences, sentence: differences.map(inWords).join('\n') || 'None.' };
    },
  );
  printing(
    settlement
      .command('looked-at')
      .argument('[difference]', 'its number, as `settlement differences` shows it', id)
      .description('mark a difference as looked at, or all that are open of a day and a link')
      .option('--date <day>', 'all of this settlement day, with --acquirer', day)
      .option('--acquirer <name>', 'all of this link, with --date')
      .requiredOption('--note <text>', 'what came of it'),
    async (difference: number | undefined, { note, date, acquirer }: LookedAtOptions) => {
      if (difference === undefined && date !== undefined && acquirer !== undefined) {
        const value = await operate((database, operator) =>
          lookAtDay(database, operator, { date, acquirer, note }),
        );
        return { value, sentence: `${value.lookedAt} differences are marked as looked at.` };
      }
      if (difference === undefined || date !== undefined || acquirer !== undefined)
        refuse('differences_not_named');
      const value = await operate((database, operator) =>
        lookAtDifference(database, operator, difference, note),
      );
      return { value, sentence: `Difference ${difference} is marked as looked at.` };
    },
  );
}

function inWords(difference: DifferenceView): string {
  const {
    id: number,
    date,
    acquirer,
    kind,
    reference,
    there,
    here,
    meaning,
    todo,
    looked,
    lookedBy,
    note,
    gone,
  } = difference;
  const said = [there && `there ${there}`, here && `here ${here}`].filter((part) => part !== '').join(', ');
  const ended = looked === null ? (gone === null ? '' : ' Gone.') : ` Looked at by ${lookedBy}: ${note}.`;
  return `${number}: ${date}, ${acquirer}, ${kind.replace('_', ' ')}, ${reference}: ${said}.${ended}\n   ${meaning}\n   ${todo}`;
}

function shown({ date, closed, lines, net }: SettlementReport): Output {
  const named = lines.map(({ merchantId: merchant, ...line }) => ({ merchant, ...line }));
  const nets = net.map(({ merchantId: merchant, ...sum }) => ({ merchant, ...sum }));
  const heading = `${date} is ${closed ? 'closed' : 'open'}.`;
  return {
    value: { date, closed, lines: named, net: nets },
    sentence:
      named.length === 0
        ? `${heading} Nothing settles on it.`
        : [
            heading,
            ...named.map(
              ({ merchant, acquirer, paymentMethod, cardType, transactionType, currency, count, cents }) =>
                `merchant ${merchant}, ${acquirer}, ${paymentMethod}${cardType && ` ${cardType}`}, ${transactionType}: ${count}, ${moneyText(cents, currency)}`,
            ),
            ...nets.map(
              ({ merchant, currency, cents }) => `merchant ${merchant}, net: ${moneyText(cents, currency)}`,
            ),
          ].join('\n'),
  };
}

function sentencesOn({ date, closed, lines, matched, listed, ...counts }: Reconciliation): string[] {
  return [
    `${matched} of ${lines} lines match; ${counts.missingHere} missing here, ${counts.missingThere} missing there, ${counts.different} different, ${counts.wrong} wrong.`,
    ...(closed ? [] : [`${date} is still open: more may come.`]),
    ...listed.missingHere.map(
      ({ line, reference, transactionType, amountCents, currency }) =>
        `Missing here: line ${line}, ${reference}, ${transactionType} ${moneyText(amountCents, currency)}.`,
    ),
    ...listed.missingThere.map(
      ({ merchant, reference, transactionType, amountCents, currency }) =>
        `Missing there: ${reference}, merchant ${merchant}, ${transactionType} ${moneyText(amountCents, currency)}.`,
    ),
    ...listed.different.map(
      ({ line, reference, there, here }) =>
        `Different: line ${line}, ${reference}: there ${there}, here ${here}.`,
    ),
    ...listed.wrong.map(({ line, reason }) => `Wrong: line ${line}: ${reason}.`),
  ];
}
