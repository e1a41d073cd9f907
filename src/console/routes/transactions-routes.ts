// Routes by which transactions are found and looked at: the list with its search box, the same as a file, one in every detail, and what
// is in doubt.
import { Limit } from '../../api/pages.js';
import { Type } from '../../api/typebox.js';
import { listDoubts } from '../../payments/doubt/doubts.js';
import { lifeOfTransaction } from '../../payments/finding/transaction-life.js';
import {
  findTransactions,
  searchTransactions,
  type TransactionPage,
  totalTransactions,
  transactionFile,
} from '../../payments/finding/transaction-search.js';
import { withShortTimeout } from '../../postgres/short-timeout.js';
import type { PageEnd } from '../../values/page.js';
import { outward } from '../../values/snake-case.js';
import { permissionOf } from '../all-tasks.js';
import { numberIn } from '../fence.js';
import type {
  DoubtLine,
  TransactionAnswer,
  TransactionsAnswer,
  TransactionTotalsAnswer,
} from '../interface.js';
import { After, decodedEnd, encodedEnd, queryReader } from '../query.js';
import { Download, type Route, route } from '../route.js';
import { Scope } from './scope.js';
import { historyFilterOf, scopeOf, shownFilterOf, TransactionFilterQuery } from './transaction-filter.js';

const PAGE_LIMIT = 100;

const readList = queryReader(
  Type.Object({
    ...TransactionFilterQuery,
    // Whatever was pasted into the box: what it holds is looked at, and never kept.
    q: Type.Optional(Type.String({ maxLength: 200 })),
    limit: Limit,
    after: After,
  }),
);
const readFile = queryReader(Type.Object(TransactionFilterQuery));
const readDoubts = queryReader(Type.Object({ ...Scope, limit: Limit }));

export const TRANSACTION_ROUTES: readonly Route[] = [
  route(
    { method: 'GET', path: '/transactions', permission: permissionOf('transaction list') },
    async ({ query, database, fence }): Promise<TransactionsAnswer> => {
      const asked = readList(query);
      const scope = scopeOf(asked, fence);
      const text = asked.q?.trim() ?? '';
      const wish = { limit: asked.limit ?? PAGE_LIMIT, after: decodedEnd<PageEnd>(asked.after) };
      const found = await withShortTimeout(database, (connection) =>
        text === ''
          ? findTransactions(connection, scope, historyFilterOf(asked), wish)
          : searchTransactions(connection, scope, text, {
              filter: historyFilterOf(asked),
              shown: shownFilterOf(asked),
            }),
      );
      return answerOf(found);
    },
  ),
  route(
    { method: 'GET', path: '/transactions/totals', permission: permissionOf('transaction list') },
    async ({ query, database, fence }): Promise<TransactionTotalsAnswer> => {
      const asked = readFile(query);
      const scope = scopeOf(asked, fence);
      return outward(
        await withShortTimeout(database, (connection) =>
          totalTransactions(connection, scope, historyFilterOf(asked)),
        ),
      );
    },
  ),
  route(
    {
      method: 'GET',
      path: '/transactions.csv',
      permission: permissionOf('transaction list'),
      recent: true,
      long: true,
    },
    async ({ query, database, fence, actor, signal }) => {
      const asked = readFile(query);
      const scope = scopeOf(asked, fence);
      const lines = await transactionFile(database, actor, scope, historyFilterOf(asked), signal);
      return new Download('transactions.csv', 'text/csv; charset=utf-8', lines);
    },
  ),
  route(
    {
      method: 'GET',
      path: '/transactions/:organisation/:audit',
      permission: permissionOf('transaction show'),
    },
    async ({ params, database }): Promise<TransactionAnswer> =>
      outward(await lifeOfTransaction(database, numberIn(params.organisation), numberIn(params.audit))),
  ),
  route(
    { method: 'GET', path: '/in-doubt', permission: permissionOf('transaction in-doubt') },
    async ({ query, database, fence }): Promise<DoubtLine[]> => {
      const { organisation, merchant, mode, limit = PAGE_LIMIT } = readDoubts(query);
      const wish = { organisation: fence ?? organisation, merchant, mode, limit };
      return (await withShortTimeout(database, (connection) => listDoubts(connection, wish))).map(outward);
    },
  ),
];

function answerOf({ end, ...page }: TransactionPage): TransactionsAnswer {
  return { ...outward(page), next: encodedEnd(end) };
}
