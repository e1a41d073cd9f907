// `tollgate event`: how far the feed of events has come.
import type { Command } from 'commander';
import { type EventStatus, eventStatus } from '../../events/feed.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';

export function addEventCommands(program: Command): void {
  const event = program.command('event').description('the feed of events');
  printing(
    event.command('status').description('show how far the feed has come, and what is not in it yet'),
    async () => {
      const value = await operate((database) => eventStatus(database));
      return { value, sentence: sentenceOf(value) };
    },
  );
}

function sentenceOf({
  waiting,
  oldestWaitingSeconds,
  kept,
  since,
  longestWritingSeconds,
}: EventStatus): string {
  return [
    since === null ? 'No events are kept.' : `${kept} events are kept, since ${since.toISOString()}.`,
    waiting === 0
      ? 'None waits for its position.'
      : `${waiting} have no position yet, the oldest for ${oldestWaitingSeconds} s.`,
    ...(longestWritingSeconds === null
      ? []
      : [`A transaction that has written something has been open for ${longestWritingSeconds} s.`]),
  ].join(' ');
}
