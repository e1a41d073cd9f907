// The dialect of Harbour: digits in ASCII, bitmaps in bytes, reversals that are requests, and numbers of its own for nearly everything.
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';

export const HARBOUR: Dialect = {
  ...AS2805,
  name: 'harbour',
  digits: 'ascii',
  fields: { ...AS2805.fields, 38: 'n6', 49: 'an3' },
  types: { ...AS2805.types, reversal: { sent: '0400', repeat: '0401', answer: '0410' } },
  constants: {
    ...AS2805.constants,
    keyed: '010',
    storedCredential: '100',
    condition: '08',
    signOn: '061',
    signOff: '062',
    echo: '270',
  },
  cvv: { field: 48, before: 'CVC', after: ';' },
  responseCodes: {
    ...AS2805.responseCodes,
    approvals: ['00', '85'],
    reversed: ['00', '25', '94'],
    messages: { ...AS2805.responseCodes.messages, 85: 'No reason to decline' },
  },
};
