// `tollgate transaction`: transactions listed, one in every detail, and what is in doubt.
import { type Command, Option } from 'commander';
import { listDoubts } from '../../payments/doubt/doubts.js';
import type { HistoryFilter } from '../../payments/finding/history.js';
import {
  exportTransactions,
  type ListedTransaction,
  listTransactions,
  showTransaction,
} from '../../payments/finding/listed-transactions.js';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../payments/transaction.js';
import { CARD_TYPES } from '../../values/card.js';
import { refuse } from '../../values/refusal.js';
import { lines } from '../../values/text-table.js';
import { amount, day, from, id, lastFour, until } from '../arguments.js';
import { writeCsv } from '../csv.js';
import { operate } from '../operator.js';
import { type Output, printing } from '../output.js';
import { addTransactionOperations } from './transaction-operations.js';
import { addTransactionSearch } from './transaction-search.js';

const COLUMNS = [
  'organisation',
  'merchant',
  'audit',
  'gateway_timestamp',
  'transaction_type',
  'status',
  'amount_cents',
  'currency',
  'reference',
  'card',
  'card_type',
  'bank_account',
  'response_code',
  'settlement_date',
  'target_audit',
  'acquirer',
];
const LISTED = 50;

interface ListOptions extends Omit<HistoryFilter, 'fromMs' | 'beforeMs' | 'amountCents' | 'amount'> {
  readonly organisation?: number;
  readonly merchantId?: number;
  readonly from?: number;
  readonly until?: number;
  readonly amount?: number;
  readonly limit?: number;
  readonly csv?: string;
}

export function addTransactionCommands(program: Command): void {
  const transaction = program.command('transaction').description('transactions, and what is in doubt');
  addList(transaction);
  printing(
    transaction
      .command('show')
      .argument('<audit>', 'its number', id)
      .description('show a transaction, what was done to it, and what was tried where it was in doubt')
      .option('--organisation <id>', 'the organisation, where several have such a number', id),
    async (audit: number, { organisation }: { organisation?: number }) => {
      const value = await operate((database) => showTransaction(database, audit, organisation));
      return { value, sentence: lines(value) };
    },
  );
  printing(
    transaction
      .command('in-doubt')
      .description('show what is unknown, since when, and what was tried; the oldest first')
      .option('--merchant <id>', 'only of this merchant', id)
      .option('--limit <count>', 'how many at most', id, LISTED),
    async (wish: { merchant?: number; limit: number }) => ({
      rows: await operate((database) => listDoubts(database, wish)),
    }),
  );
  addTransactionSearch(transaction);
  addTransactionOperations(transaction);
}

function addList(transaction: Command): void {
  printing(
    transaction
      .command('list')
      .description('list transactions, the newest first; all filters must hold')
      .option('--organisation <id>', 'of this organisation', id)
      .option('--merchant, --merchant-id <id>', 'of this merchant', id)
      .option('--from <time>', 'made at or after: a day in Sydney, or an instant', from)
      .option('--until <time>', 'made at or before; of a day, all of it', until)
      .addOption(new Option('--status <status>', 'with this outcome').choices(TRANSACTION_STATUSES))
      .addOption(new Option('--transaction-type <type>', 'of this type').choices(TRANSACTION_TYPES))
      .addOption(new Option('--payment-method <method>', 'paid with').choices(['creditcard', 'bankaccount']))
      .addOption(new Option('--card-type <type>', 'of this scheme').choices([...CARD_TYPES, '']))
      .option('--last-four <digits>', 'of a card whose number ends like this', lastFour)
      .option('--reference <text>', 'with a reference that begins like this')
      .option('--amount <cents>', 'of this amount', amount)
      .option('--settlement-date <day>', 'that settle on this day', day)
      .option('--acquirer <name>', 'that went over this link')
      .option('--response-code <code>', 'that the acquirer answered with this code')
      .option('--currency <code>', 'in this currency')
      .option('--customer, --customer-id <id>', 'paid with a token of this customer', id)
      .option('--token, --token-id <id>', 'paid with this token', id)
      .option('--target-audit <audit>', 'done to this transaction', id)
      .option('--limit <count>', `how many at most; ${LISTED}, and all of them into a file`, id)
      .option('--csv <file>', 'write them to a file; never overwrites another'),
    list,
  );
}

async function list(options: ListOptions): Promise<Output> {
  const { csv, limit, organisation, merchantId: merchant } = options;
  const { from: fromMs, until: beforeMs, amount: amountCents } = options;
  if (fromMs !== undefined && beforeMs !== undefined && fromMs >= beforeMs)
    refuse('period_ends_before_it_begins');
  const filter = { ...options, fromMs, beforeMs, amount: undefined, amountCents };
  const scope = { organisation, merchant };
  return operate(async (database, operator) => {
    if (csv === undefined)
      return { rows: await all(upTo(listTransactions(database, scope, filter), limit ?? LISTED)) };
    const pages = exportTransactions(database, operator, scope, filter, csv);
    const written = await writeCsv(csv, COLUMNS, upTo(pages, limit ?? Number.POSITIVE_INFINITY));
    return {
      value: { transactions: written, csv },
      sentence: `${written} transactions are in ${csv}.`,
    };
  });
}

/** The first so many. */
async function* upTo(
  pages: AsyncIterable<ListedTransaction[]>,
  limit: number,
): AsyncGenerator<ListedTransaction[]> {
  let left = limit;
  for await (const page of pages) {
    yield page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

async function all<Item>(pages: AsyncIterable<Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}
