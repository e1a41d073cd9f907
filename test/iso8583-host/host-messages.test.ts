// The test host's answers to messages in as2805 that were written down by hand, byte for byte.
import { describe, expect, test } from 'vitest';
import type { Host } from '../../testkit/iso8583-host/host.js';
import { openHost } from './open-host.js';
import { type Line, openLine } from './raw-line.js';

const hex = (text: string) => Buffer.from(text, 'latin1').toString('hex').toUpperCase();

const SIGN_ON = [
  '0800',
  '8220000100000000',
  '0400000000000000',
  '1116010203',
  '000001',
  '0861000001',
  '0001',
];
const TERMINAL = hex('TERM0001');
const ACCEPTOR = hex('MERCHANT0000001');
const CARD = '164111111111111111';

/** Fields 2, 3, 4, 7, 11, 14, 22, 25, 32, 37, 41, 42 and 49. */
function payment(
  mti: string,
  stan: string,
  { card = CARD, amount = '1995', expiry = '3912' } = {},
): string[] {
  const money = [card, '000000', amount.padStart(12, '0'), '1116010203', stan, expiry];
  return [
    mti,
    '7224048108C08000',
    ...money,
    '0012',
    '59',
    '0861000001',
    hex(`REF${stan}   `),
    TERMINAL,
    ACCEPTOR,
    '0036',
  ];
}

/** Fields 2, 3, 4, 7, 11, 37, 38, 41, 42, 49 and 90: with the authorisation code of the preauthorisation. */
function completion(mti: string, stan: string, of: string, authorisation: string, amount = '1995'): string[] {
  const money = [CARD, '000000', amount.padStart(12, '0'), '1116010303', stan];
  const references = [hex(`REF${of}   `), authorisation, TERMINAL, ACCEPTOR, '0036'];
  return [mti, 'F22000000CC08000', '0000004000000000', ...money, ...references, original('0100', of)];
}

/** Fields 2, 3, 4, 11, 37, 41, 42, 49 and 90. */
function reversal(mti: string, stan: string, of: readonly [string, string], amount = '1995'): string[] {
  const money = [CARD, '000000', amount.padStart(12, '0'), stan];
  const references = [hex(`REF${of[1]}   `), TERMINAL, ACCEPTOR, '0036'];
  return [mti, 'F020000008C08000', '0000004000000000', ...money, ...references, original(...of)];
}

function original(mti: string, stan: string): string {
  return `${mti}${stan}1116010203${'00061000001'}${'0'.repeat(11)}`;
}

/** They stand before terminal, acceptor and currency. */
function codesOf(answer: string): { code: string; authorisation: string } {
  const code = Buffer.from(answer.slice(-54, -50), 'hex').toString('latin1');
  return { code, authorisation: answer.slice(-66, -54) };
}

async function signedOn(host: Host): Promise<Line> {
  const line = await openLine(host);
  expect(await line.ask(...SIGN_ON)).toBe(
    [
      '0810',
      '8220000102000000',
      '0400000000000000',
      '1116010203',
      '000001',
      '0861000001',
      hex('00'),
      '0001',
    ].join(''),
  );
  return line;
}

describe('as2805', () => {
  test('sign-on, echo and sign-off are answered with 0810 and 00', async () => {
    const line = await signedOn(await openHost());
    for (const [stan, asked] of [
      ['000002', '0301'],
      ['000003', '0002'],
    ] as const) {
      const said = ['8220000100000000', '0400000000000000', '1116010203', stan, '0861000001', asked];
      expect(await line.ask('0800', ...said)).toBe(
        [
          '0810',
          '8220000102000000',
          '0400000000000000',
          '1116010203',
          stan,
          '0861000001',
          hex('00'),
          asked,
        ].join(''),
      );
    }
  });

  test('a purchase is approved with an authorisation code, and the answer does not repeat the card number', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    const answer = await line.ask(...payment('0200', '000007'));
    const said = ['0210', '322000010EC08000', '000000', '000000001995', '1116010203', '000007', '0861000001'];
    const ending = [hex('00'), TERMINAL, ACCEPTOR, '0036'];
    expect(answer).toMatch(
      new RegExp(`^${said.join('')}${hex('REF000007   ')}(3[0-9]){6}${ending.join('')}$`),
    );
    expect([...host.books.positions()]).toEqual([['TERM0001/1116/000007', '1995 charged']]);
  });

  test('a purchase before the sign-on → the connection is closed, and nothing is booked', async () => {
    const host = await openHost();
    const line = await openLine(host);
    expect(await line.ask(...payment('0200', '000007'))).toBe('closed');
    expect(host.books.complaints.map(({ what }) => what)).toEqual(['not signed on']);
    expect(host.books.positions().size).toBe(0);
  });

  test('bytes that are not a message → the connection is closed, and nothing is booked', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    expect(await line.ask(...payment('0200', '000007'), '00')).toBe('closed');
    expect(host.books.complaints.map(({ what }) => what)).toEqual(['unreadable']);
  });

  test.each([
    ['4100000000000514', '51'],
    ['4100000000000779', '77'],
  ])('a purchase with %s is answered with %s, and nothing is booked', async (card, code) => {
    const host = await openHost();
    const line = await signedOn(host);
    const answer = await line.ask(...payment('0200', '000007', { card: `16${card}` }));
    // Without field 38.
    expect(answer.slice(4, 20)).toBe('322000010AC08000');
    expect(codesOf(answer).code).toBe(code);
    expect(host.books.positions().size).toBe(0);
  });

  test('an expired card → 54', async () => {
    const line = await signedOn(await openHost());
    const answer = await line.ask(...payment('0200', '000007', { expiry: '2001' }));
    expect(codesOf(answer).code).toBe('54');
  });

  test('a STAN used for a second message → 94, recorded, and nothing more is booked', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    await line.ask(...payment('0200', '000007'));
    expect(codesOf(await line.ask(...payment('0200', '000007', { amount: '2000' }))).code).toBe('94');
    expect(host.books.complaints).toMatchObject([{ what: 'STAN used twice', key: 'TERM0001/1116/000007' }]);
    expect([...host.books.positions().values()]).toEqual(['1995 charged']);
  });

  test('the same purchase sent again → the same answer, recorded, and booked once', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    const answer = await line.ask(...payment('0200', '000007'));
    expect(await line.ask(...payment('0200', '000007'))).toBe(answer);
    expect(host.books.complaints.map(({ what }) => what)).toEqual(['asked again']);
    expect([...host.books.positions().values()]).toEqual(['1995 charged']);
  });

  test('a preauthorisation, its completion and the repeated advice → booked once, acknowledged twice', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    const preauthorised = await line.ask(...payment('0100', '000007'));
    expect(preauthorised.slice(0, 4)).toBe('0110');
    expect([...host.books.positions().values()]).toEqual(['1995 held']);
    const { authorisation } = codesOf(preauthorised);
    const first = await line.ask(...completion('0220', '000008', '000007', authorisation, '1500'));
    expect(first.slice(0, 4)).toBe('0230');
    expect(codesOf(first).code).toBe('00');
    expect(await line.ask(...completion('0221', '000008', '000007', authorisation, '1500'))).toBe(first);
    expect([...host.books.positions()]).toEqual([['TERM0001/1116/000008', '1500 charged']]);
    expect(host.books.complaints).toEqual([]);
  });

  test('a reversal and its repetition → 0430 with 00, and nothing is charged', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    await line.ask(...payment('0200', '000007'));
    const said = [
      '0430',
      '302000000AC08000',
      '000000',
      '000000001995',
      '000009',
      hex('REF000007   '),
      hex('00'),
    ];
    const answer = [...said, TERMINAL, ACCEPTOR, '0036'].join('');
    expect(await line.ask(...reversal('0420', '000009', ['0200', '000007']))).toBe(answer);
    expect(await line.ask(...reversal('0421', '000009', ['0200', '000007']))).toBe(answer);
    expect(host.books.positions().size).toBe(0);
    expect(host.books.complaints).toEqual([]);
  });

  test('a reversal under the STAN of its original is not a second use', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    await line.ask(...payment('0200', '000007'));
    const answer = await line.ask(...reversal('0420', '000007', ['0200', '000007']));
    expect(codesOf(answer).code).toBe('00');
    expect(host.books.positions().size).toBe(0);
    expect(host.books.complaints).toEqual([]);
  });

  test('a reversal of an unknown payment → 25; if the payment comes after all, it is refused', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    expect(codesOf(await line.ask(...reversal('0421', '000009', ['0200', '000007']))).code).toBe('25');
    expect(codesOf(await line.ask(...payment('0200', '000007'))).code).toBe('12');
    expect(host.books.positions().size).toBe(0);
  });

  test('a reversal of another amount than its original has → 30, recorded, and nothing is reversed', async () => {
    const host = await openHost();
    const line = await signedOn(host);
    await line.ask(...payment('0200', '000007'));
    const answer = await line.ask(...reversal('0420', '000009', ['0200', '000007'], '1994'));
    expect(codesOf(answer).code).toBe('30');
    expect(host.books.complaints).toMatchObject([{ what: 'unlike its original', detail: 'amount' }]);
    expect([...host.books.positions().values()]).toEqual(['1995 charged']);
  });
});
