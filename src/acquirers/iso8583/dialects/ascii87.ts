// ISO 8583:1987 in plain ASCII, as many hosts outside Australia use it: four-digit lengths, hexadecimal bitmaps, and reversals as
// requests (0400). Everything else is as in the Australian dialect.
import { AS2805 } from './as2805.js';
import type { Dialect } from './dialect.js';

export const ASCII87: Dialect = {
  ...AS2805,
  name: 'ascii87',
  frame: 'four digits',
  digits: 'ascii',
  bytes: 'hexadecimal',
  mostDeclines: 15,
  types: { ...AS2805.types, reversal: { sent: '0400', repeat: '0401', answer: '0410' } },
};
