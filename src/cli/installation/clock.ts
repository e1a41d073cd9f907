// `tollgate clock`: the gateway's time, shown and moved.
import type { Command } from 'commander';
import { advanceClock, type ClockView, resetClock, showClock } from '../../clock/clock-tasks.js';
import { sydneyTimestamp } from '../../values/time.js';
import { duration } from '../arguments.js';
import { operate } from '../operator.js';
import { type Output, printing } from '../output.js';

export function addClockCommands(program: Command): void {
  const clock = program
    .command('clock')
    .description(
      "the gateway's clock, which can be moved where every acquirer is simulated and no merchant is live",
    );
  printing(clock.command('show').description('show the time and how far it is advanced'), async () =>
    shown(await operate(showClock)),
  );
  printing(
    clock
      .command('advance')
      .argument('<duration>', 'for example 3d, 12h, 30m or 45s', duration)
      .description('move every process of the gateway forward'),
    async (byMs: number) =>
      shown(await operate((database, operator) => advanceClock(database, operator, byMs))),
  );
  printing(
    clock
      .command('reset')
      .description('back to real time, if nothing has happened that would be in the future then'),
    async () => shown(await operate(resetClock)),
  );
}

function shown({ nowMs, advancedMs }: ClockView): Output {
  const now = sydneyTimestamp(nowMs);
  return {
    value: { now, advancedMs },
    sentence: `It is ${now} in Sydney, ${advancedMs / 1000} seconds ahead of real time.`,
  };
}
