// `tollgate customer` and `tollgate token`: what operators do in the vault.
import type { Command } from 'commander';
import { destroyCardsOfCustomer } from '../../payments/cards/card-destruction.js';
import { lines, table } from '../../values/text-table.js';
import { findCustomers, showCustomer } from '../../vault/customer-search.js';
import {
  type ChangedToken,
  deleteCustomer,
  deleteToken,
  switchToken,
  tokensByFormerId,
} from '../../vault/vault-tasks.js';
import { id } from '../arguments.js';
import { operate, operateWithKey } from '../operator.js';
import { type Output, printing } from '../output.js';

const LISTED = 50;

interface Given {
  readonly organisation: number;
}

export function addVaultCommands(program: Command): void {
  const customer = program.command('customer').description('customers in the vault');
  addLooking(customer);
  printing(
    of(customer.command('delete'), '<id>', 'the customer').description(
      'delete a customer with its tokens; their cards are destroyed, and those of its finished transactions',
    ),
    async (number: number, { organisation }: Given) => {
      const value = await operate((database, operator) =>
        deleteCustomer(database, operator, { organisation, customer: number }, destroyCardsOfCustomer),
      );
      return { value, sentence: `Customer ${number} is deleted.` };
    },
  );
  const token = program.command('token').description('tokens in the vault');
  addFinding(token);
  for (const [name, active, description] of [
    ['deactivate', false, 'let nobody pay with a token, until it is activated'],
    ['activate', true, 'let a token be paid with again'],
  ] as const) {
    printing(
      of(token.command(name), '<id>', 'the token').description(description),
      async (number: number, { organisation }: Given) =>
        shown(
          await operateWithKey((database, operator, provider) =>
            switchToken(database, operator, provider, { organisation, token: number, active }),
          ),
        ),
    );
  }
  printing(
    of(token.command('delete'), '<id>', 'the token').description(
      'delete a token; its card data is destroyed',
    ),
    async (number: number, { organisation }: Given) =>
      shown(
        await operateWithKey((database, operator, provider) =>
          deleteToken(database, operator, provider, { organisation, token: number }),
        ),
      ),
  );
}

function addFinding(token: Command): void {
  printing(
    token
      .command('find')
      .argument('<old-id>', 'what it was called in the vault that it was imported from')
      .description('find an imported token by its old ID')
      .requiredOption('--merchant <id>', 'whose vault', id),
    async (oldId: string, { merchant }: { merchant: number }) => ({
      rows: await operate((database) => tokensByFormerId(database, merchant, oldId)),
    }),
  );
}

function addLooking(customer: Command): void {
  printing(
    customer
      .command('list')
      .description('list customers by name')
      .option('--organisation <id>', 'only of this organisation', id)
      .option('--merchant <id>', 'only of this merchant', id)
      .option('--text <text>', 'with this in their name or reference')
      .option('--limit <count>', 'how many at most', id, LISTED),
    async (wish: { organisation?: number; merchant?: number; text?: string; limit: number }) => {
      const { text, limit } = wish;
      const { results } = await operate((database) => findCustomers(database, wish, text, { limit }));
      return { rows: results };
    },
  );
  printing(
    of(customer.command('show'), '<id>', 'the customer').description(
      'show a customer, its tokens, and what was done to them',
    ),
    async (number: number, { organisation }: Given) => {
      const { tokens, journal, ...about } = await operate((database) =>
        showCustomer(database, organisation, number),
      );
      const parts = [lines(about), table(tokens), table(journal)];
      return { value: { ...about, tokens, journal }, sentence: parts.join('\n\n') };
    },
  );
}

function of(command: Command, argument: string, what: string): Command {
  return command
    .argument(argument, what, id)
    .requiredOption('--organisation <id>', 'whose it is: numbers are given within an organisation', id);
}

function shown(value: ChangedToken): Output {
  const state = value.deleted ? 'deleted' : value.active ? 'active' : 'not active';
  return { value, sentence: `Token ${value.token} is ${state}.` };
}
