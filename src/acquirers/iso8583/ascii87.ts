// A dialect of ISO 8583:1987 in plain ASCII, as many hosts outside Australia speak it: lengths of four digits in front of messages,
// bitmaps in hexadecimal, and reversals that are requests (0400).
import { AS2805 } from './as2805.js';
import type { Dialect } from './dialect.js';

export const ASCII87: Dialect = {
  ...AS2805,
  name: 'ascii87',
  frame: 'four digits',
  digits: 'ascii',
  bytes: 'hexadecimal',
  fields: {
    ...AS2805.fields,
    52: 'b8',
    61: 'an..999 LLL',
    62: 'an..999 LLL',
    63: 'an..999 LLL',
  },
  types: { ...AS2805.types, reversal: { sent: '0400', repeat: '0401', answer: '0410' } },
  constants: { ...AS2805.constants, storedCredential: '100' },
  cvv: { field: 48, before: '92', after: '' },
  responseCodes: { ...AS2805.responseCodes, approvals: ['00', '08', '11'] },
};
