// `tollgate demo`: fills the demo with days of trade.
import type { Command } from 'commander';
import { type FilledHistory, fillHistory } from '../../demo/history.js';
import { credentialKey } from '../../gateway/callers.js';
import { readSettings } from '../../gateway/settings/settings.js';
import { refuse } from '../../values/refusal.js';
import { wholeNumber } from '../arguments.js';
import { operateWithKey } from '../operator.js';
import { printing } from '../output.js';

/** As far back as events, and so figures, are kept by default. */
const DEFAULT_DAYS = 30;
const MOST_DAYS = 120;

export function addDemoCommands(program: Command): void {
  const demo = program
    .command('demo')
    .description('the demo that `serve` makes where there is no DATABASE_URL');
  printing(
    demo
      .command('fill')
      .description(
        'give the demo’s merchants of the organisation Harbour Group a history, for the console to show; what is there stays as it is',
      )
      .option(
        '--days <days>',
        `how many days back, up to ${MOST_DAYS}`,
        (text: string) => wholeNumber(text, MOST_DAYS),
        DEFAULT_DAYS,
      ),
    async ({ days }: { days: number }) => {
      const { demo: isDemo, environment, simulatorLedger: ledger } = readSettings();
      const filled = await operateWithKey(async (database, operator, provider) => {
        if (!isDemo || environment === 'production') refuse('demo_absent');
        return fillHistory(database, operator, {
          provider,
          key: await credentialKey(database, provider),
          ledger,
          days,
          unfinished: true,
        });
      });
      return { value: filled, sentence: sentenceOn(filled) };
    },
  );
}

function sentenceOn({ days, transactions, events, customers, inDoubt }: FilledHistory): string {
  if (transactions === 0) return 'There was nothing to fill: these days have their trade.';
  return `${transactions} transactions on ${days} days, with ${events} events and ${customers} new customers; ${inDoubt} are in doubt.`;
}
