// A dialect of ISO 8583:1987 in plain ASCII, as many hosts outside Australia speak it: lengths of four digits in front of messages,
// bitmaps in hexadecimal, and reversals that are requests (0400). Everything else is as in the Australian one.
import { AS2805 } from './as2805.js';
import type { Dialect } from './dialect.js';

export const ASCII87: Dialect = {
  ...AS2805,
  name: 'ascii87',
  frame: 'four digits',
  digits: 'ascii',
  bytes: 'hexadecimal',
  types: { ...AS2805.types, reversal: { sent: '0400', repeat: '0401', answer: '0410' } },
};
