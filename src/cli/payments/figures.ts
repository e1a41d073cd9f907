// `tollgate figures`: the figures of days that the console shows, held against the transactions and counted anew.
import type { Command } from 'commander';
import { checkFigures, rebuildFigures, type WrongFigure } from '../../figures/figures-check.js';
import { readSettings } from '../../gateway/settings/settings.js';
import { table } from '../../values/text-table.js';
import { days } from '../arguments.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';
import { ProgressBar } from '../progress-bar.js';

const DEFAULT_DAYS = 2;

export function addFigureCommands(program: Command): void {
  const figures = program.command('figures').description('the figures of each hour that the console shows');
  printing(
    figures
      .command('check')
      .description('hold the figures of whole hours against the transactions; ends with 1 where one is wrong')
      .option('--days <days>', 'how many days back', days, DEFAULT_DAYS),
    async ({ days: back }: { days: number }) => {
      const { eventDays } = readSettings();
      const wrong = await operate((database) => checkFigures(database, eventDays, back));
      if (wrong.length > 0) process.exitCode = 1;
      return { value: { days: back, wrong }, sentence: sentenceOn(back, wrong) };
    },
  );
  printing(
    figures
      .command('rebuild')
      .description('count the figures anew, from every event that is kept, while the gateway serves'),
    async () => {
      const { eventDays } = readSettings();
      const bar = new ProgressBar('figures', 'positions');
      const events = await operate((database, operator) =>
        rebuildFigures(database, operator, eventDays, (done, total) => bar.show(done, total)),
      );
      bar.end();
      return { value: { events }, sentence: `${events} events are counted anew.` };
    },
  );
}

function sentenceOn(back: number, wrong: readonly WrongFigure[]): string {
  if (wrong.length === 0) return `The figures of the last ${back} days are what the transactions come to.`;
  return `${wrong.length} figures are wrong; \`tollgate figures rebuild\` counts them anew.\n${table(wrong)}`;
}
