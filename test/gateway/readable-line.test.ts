// The log as a person at a terminal sees it.
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { readableLine } from '../../src/gateway/observability/readable-line.js';

const GREEN = '\u001b[32m';
const PLAIN = '\u001b[0m';

test('a line with fields → time of day, level, message and fields on one line', () => {
  const line = { level: 'info', time: '2026-11-15T05:06:07.089Z', status: 201, user: 'demo', msg: 'request' };
  expect(readableLine(JSON.stringify(line))).toBe(
    `05:06:07.089 ${GREEN}info${PLAIN} request status=201 user=demo\n`,
  );
});

test('a line as the log writes it, with a list and without a message → readable', () => {
  const lines: string[] = [];
  pino(
    { base: null, timestamp: () => ',"time":"2026-11-15T05:06:07.089Z"' },
    { write: (line) => lines.push(line) },
  ).info({
    audits: [1, 2],
  });
  expect(lines.map(readableLine)).toEqual([`05:06:07.089 \u001b[36m30${PLAIN} audits=[1,2]\n`]);
});

test('control characters in a value or in the message → escaped, so that they do not reach the terminal', () => {
  const line = { level: 'warn', time: '', cause: 'a\nb\u001b[2J', at: ['\u009b'], msg: '\u009bc\r' };
  const shown = readableLine(JSON.stringify(line));
  expect(shown).toBe(
    String.raw`${'\u001b'}[33mwarn${PLAIN} "\u009bc\r" cause="a\nb\u001b[2J" at=["\u009b"]${'\n'}`,
  );
});
