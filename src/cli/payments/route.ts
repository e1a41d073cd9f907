// `tollgate route`: over which link the cards of a merchant are paid.
import { type Command, Option } from 'commander';
import {
  type RouteFilter,
  removeRoutes,
  setRoute,
  showRoutes,
} from '../../organisations/routing/route-tasks.js';
import { id } from '../arguments.js';
import { repeatable } from '../contradictions.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';

interface Given {
  readonly merchant: number;
  readonly acquirer?: string;
  readonly card?: string;
  readonly bin?: readonly string[];
  readonly currency?: string;
  readonly share?: string;
  readonly order?: string;
}

/** `456000-456099,456200`, added to earlier ones. */
function ranges(text: string, earlier: readonly string[] = []): string[] {
  return [...earlier, ...text.split(',')];
}

/** What says which payments a route is for. */
function withConditions(command: Command): Command {
  return command
    .option('--card <type>', 'for cards of this type')
    .addOption(
      repeatable(
        new Option('--bin <from-to>', 'for these BINs, of 6 to 8 digits (may be repeated, or a list)'),
      ).argParser(ranges),
    )
    .option('--currency <code>', 'for payments in this currency');
}

export function addRouteCommands(program: Command): void {
  const route = program
    .command('route')
    .description('over which acquirer which cards of a merchant are paid');
  printing(
    withConditions(
      route
        .command('set')
        .description(
          'set a route; the most specific one wins (BIN, then card type, then currency), then the lowest order',
        )
        .requiredOption('--merchant <id>', 'the merchant', id)
        .requiredOption('--acquirer <name>', 'the link that it leads to'),
    )
      .option('--share <percent>', 'how much of the payments; the rest goes on to the other routes')
      .option('--order <n>', 'its place among routes for the same payments; 1 unless another is given'),
    async (given: Given & { acquirer: string }) => {
      const { merchant, acquirer, share } = given;
      const wish = { ...filterOf(given), acquirer, share };
      return { rows: await operate((database, operator) => setRoute(database, operator, merchant, wish)) };
    },
  );
  printing(
    route
      .command('show')
      .description('show the routes of a merchant, in the order in which they are looked through')
      .requiredOption('--merchant <id>', 'the merchant', id),
    async ({ merchant }: Given) => ({ rows: await operate((database) => showRoutes(database, merchant)) }),
  );
  printing(
    withConditions(
      route
        .command('off')
        .description('take the routes of a merchant away: those that have everything that is named, or all')
        .requiredOption('--merchant <id>', 'the merchant', id)
        .option('--acquirer <name>', 'only those that lead to this link'),
    ).option('--order <n>', 'only those in this place'),
    async (given: Given) => ({
      rows: await operate((database, operator) =>
        removeRoutes(database, operator, given.merchant, filterOf(given)),
      ),
    }),
  );
}

function filterOf({ acquirer, card, bin: bins, currency, order }: Given): RouteFilter {
  return { acquirer, card, bins, currency, order };
}
