// The MAC of the test host, held against values that others have published.
import { expect, test } from 'vitest';
import { message } from '../../testkit/iso8583-host/codec.js';
import { AS2805, ASCII87 } from '../../testkit/iso8583-host/dialects.js';
import { macIsRight, retailMac, withMac } from '../../testkit/iso8583-host/mac.js';

const KEY = Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex');
const REVERSAL = {
  2: '4111111111111111',
  3: '000000',
  4: '000000001995',
  11: '000004',
  90: '020000000211160102030006100000100000000000',
};

test.each([
  // The examples of ISO/IEC 9797-1, algorithm 3 with the first way of padding.
  ['0123456789ABCDEFFEDCBA9876543210', 'Now is the time for all ', 'A1C72E74EA3FA9B6'],
  ['0123456789ABCDEFFEDCBA9876543210', 'Now is the time for it', '2E2B1428CC78254F'],
  // Bouncy Castle's, the last block of which is full.
  ['7CA110454A1A6E570131D9619DC1376E', 'Hello World !!!!', 'F09B856213BAB83B'],
])('X9.19 with %s over “%s” → %s', (key, text, mac) => {
  expect(retailMac(Buffer.from(key, 'hex'), Buffer.from(text))).toBe(mac);
});

test.each([AS2805, ASCII87])(
  '$name: a repeated message has the MAC of the first, in field 128',
  (dialect) => {
    const first = withMac(dialect, message('0420', REVERSAL), KEY);
    const repeated = withMac(dialect, message('0421', REVERSAL), KEY);
    expect(first.fields.get(128)).toMatch(/^[0-9A-F]{16}$/);
    expect(repeated.fields).toEqual(first.fields);
    expect(macIsRight(dialect, repeated, KEY)).toBe(true);
  },
);

test('without a second bitmap the MAC stands in field 64', () => {
  const signed = withMac(AS2805, message('0200', { 11: '000004' }), KEY);
  expect([...signed.fields.keys()]).toEqual([11, 64]);
  // By hand: MTI, bitmap with 11 and 64, STAN.
  expect(signed.fields.get(64)).toBe(
    retailMac(KEY, Buffer.from('0200' + '0020000000000001' + '000004', 'hex')),
  );
});

test('another amount, another key or no MAC → invalid', () => {
  const { mti, fields } = withMac(AS2805, message('0420', REVERSAL), KEY);
  const otherAmount = { mti, fields: new Map(fields).set(4, '000000001996') };
  expect(macIsRight(AS2805, otherAmount, KEY)).toBe(false);
  expect(macIsRight(AS2805, { mti, fields }, Buffer.alloc(16, 1))).toBe(false);
  expect(macIsRight(AS2805, message('0420', REVERSAL), KEY)).toBe(false);
});
