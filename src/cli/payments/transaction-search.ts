// `tollgate transaction find` and `figures`: transactions by one text, and a day in figures, as the console has them.
import type { Command } from 'commander';
import { showToday } from '../../figures/today.js';
import { searchTransactions, type TransactionPage } from '../../payments/finding/transaction-search.js';
import { table } from '../../values/text-table.js';
import { day, id } from '../arguments.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';

export function addTransactionSearch(transaction: Command): void {
  printing(
    transaction
      .command('find')
      .argument('<text>', 'an audit, correlation ID, reference, last four, amount, virtual PAN or customer')
      .description('find transactions by a text, whatever it may mean, and say what it was taken for')
      .option('--organisation <id>', 'of this organisation', id)
      .option('--merchant <id>', 'of this merchant', id),
    async (text: string, { organisation, merchant }: { organisation?: number; merchant?: number }) => {
      const scope = { organisation, merchant };
      const found = await operate((database) => searchTransactions(database, scope, text));
      const { results, understood } = found;
      return { value: { results, understood }, sentence: sentenceOf(found) };
    },
  );
  printing(
    transaction
      .command('figures')
      .description('show a day in figures, beside the same day of the week before')
      .option('--date <day>', 'a day in Sydney; today if it is not named', day)
      .option('--organisation <id>', 'of this organisation', id),
    async ({ date, organisation }: { date?: string; organisation?: number }) => {
      const value = await operate((database) => showToday(database, { date, organisation }));
      const rows = value.statuses.map(({ status, count, weekBefore }) => ({ status, count, weekBefore }));
      return { value, sentence: `${value.date}, until ${value.now}\n\n${table(rows)}` };
    },
  );
}

function sentenceOf({ results, understood }: TransactionPage): string {
  if (understood.some(({ as }) => as === 'card_number'))
    return 'This is a card number. Nothing can be found by one: take its last four digits.';
  const meanings = understood.map(
    ({ as, found, more }) => `${found}${more ? ' or more' : ''} as ${as.replaceAll('_', ' ')}`,
  );
  return [...meanings, '', table(results)].join('\n').trimStart();
}
