// `tollgate cards`: which sealed cards there are and why, and a second look at all of them.
import type { Command } from 'commander';
import { type CardStatus, reviewCards, showCards } from '../../payments/cards/card-tasks.js';
import { table } from '../../values/text-table.js';
import { id } from '../arguments.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';
import { ProgressBar } from '../progress-bar.js';

export function addCardCommands(program: Command): void {
  const cards = program.command('cards').description('the sealed cards, and when they end');
  printing(
    cards
      .command('status')
      .description(
        'look at every sealed card and say why it still lives; ends with 1 where one should be gone',
      )
      .option('--merchant <id>', 'only this merchant', id),
    async ({ merchant }: { merchant?: number }) => {
      const bar = new ProgressBar('cards');
      const progress = (done: number, total: number) => bar.show(done, total);
      const status = await operate((database) => showCards(database, { merchant, progress }));
      bar.end();
      if (status.overdue > 0) process.exitCode = 1;
      return { value: status, sentence: sentencesOn(status) };
    },
  );
  printing(
    cards
      .command('review')
      .description('have every card looked at again from the beginning, while the gateway serves')
      .option('--merchant <id>', 'only this merchant', id),
    async ({ merchant }: { merchant?: number }) => {
      const merchants = await operate((database, operator) => reviewCards(database, operator, merchant));
      return {
        value: { merchants },
        sentence: `The cards of ${merchants} merchants are looked at again, by the gateways that are running.`,
      };
    },
  );
}

function sentencesOn({ cards, overdue, oldest, bankAccounts, destroyed, merchants }: CardStatus): string {
  return [
    `${cards} sealed cards${oldest === null ? '' : `; the oldest transaction with one is of ${oldest.toISOString()}`}.`,
    overdue === 0 ? 'None of them should be gone.' : `${overdue} of them should be gone, and are not.`,
    `${bankAccounts} sealed bank accounts of direct debits. ${destroyed} cards have been destroyed.`,
    table(merchants),
  ].join('\n');
}
