// The test host's answers to messages in ascii87 that were written down by hand, character for character.
import { expect, test } from 'vitest';
import { ASCII87 } from '../../testkit/iso8583-host/dialects.js';
import type { Host } from '../../testkit/iso8583-host/host.js';
import { openHost } from './open-host.js';
import { type Line, openLine } from './raw-line.js';

const SENT_AT = '1116010203';
const INSTITUTION = '0861000001';
const REFERENCE = 'REF000007   ';
const MONEY = '000000000000001995';
const ENDING = 'TERM0001MERCHANT0000001036';

/** Fields 2, 3, 4, 11, 37, 41, 42, 49 and 90. */
const REVERSAL = [
  ...['F020000008C08000', '0000004000000000', '164111111111111111', MONEY, '000009', REFERENCE, ENDING],
  ...['0200', '000007', SENT_AT, '00061000001', '00000000000'],
];

async function signedOn(host: Host): Promise<Line> {
  const line = await openLine(host);
  const bitmaps = (first: string) => [first, '0400000000000000', SENT_AT, '000001', INSTITUTION];
  expect(await line.ask('0800', ...bitmaps('8220000100000000'), '001')).toBe(
    ['0810', ...bitmaps('8220000102000000'), '00', '001'].join(''),
  );
  return line;
}

test('sign-on, purchase, and 0400 answered with 0410', async () => {
  const host = await openHost({ dialect: ASCII87 });
  const line = await signedOn(host);
  const payment = ['7224048108C08000', '164111111111111111', MONEY, SENT_AT, '000007', '3912', '012', '59'];
  const answer = await line.ask('0200', ...payment, INSTITUTION, REFERENCE, ENDING);
  const said = ['0210', '322000010EC08000', MONEY, SENT_AT, '000007', INSTITUTION, REFERENCE];
  expect(answer).toMatch(new RegExp(`^${said.join('')}[0-9]{6}00${ENDING}$`));
  expect([...host.books.positions()]).toEqual([['TERM0001/1116/000007', '1995 charged']]);
  const reversed = ['0410', '302000000AC08000', MONEY, '000009', REFERENCE, '00', ENDING].join('');
  expect(await line.ask('0400', ...REVERSAL)).toBe(reversed);
  expect(await line.ask('0401', ...REVERSAL)).toBe(reversed);
  expect(host.books.positions().size).toBe(0);
  expect(host.books.complaints).toEqual([]);
});

test('0420 is not a message of this dialect', async () => {
  const host = await openHost({ dialect: ASCII87 });
  const line = await signedOn(host);
  const echo = ['0800', '8220000100000000', '0400000000000000', SENT_AT, '000002', INSTITUTION, '301'];
  void line.ask('0420', ...REVERSAL);
  expect((await line.ask(...echo)).slice(0, 4)).toBe('0810');
  expect(host.books.complaints).toMatchObject([{ what: 'unknown message', mti: '0420' }]);
});
