// The Australian dialect (AS 2805.2 style of ISO 8583:1987), the default for links.
import type { Dialect } from './dialect.js';
import { RESPONSE_MESSAGES } from './response-messages.js';

export const AS2805: Dialect = {
  name: 'as2805',
  frame: 'two bytes',
  digits: 'bcd',
  bytes: 'binary',
  fields: {
    2: 'n..19 LL', // card number
    3: 'n6', // processing code
    4: 'n12', // amount in cents
    7: 'n10', // MMDDhhmmss of sending, UTC
    11: 'n6', // STAN
    12: 'n6', // local time
    13: 'n4', // local date
    14: 'n4', // expiry, YYMM
    15: 'n4', // settlement date, MMDD
    18: 'n4', // merchant category code
    22: 'n3', // entry mode
    23: 'n3',
    25: 'n2', // condition
    32: 'n..11 LL', // acquiring institution
    33: 'n..11 LL',
    37: 'an12', // retrieval reference
    38: 'an6', // authorisation code
    39: 'an2', // response code
    41: 'an8', // terminal
    42: 'an15', // card acceptor
    43: 'an40', // acceptor's name and place
    44: 'an..25 LL',
    47: 'an..999 LLL', // additional data, national
    48: 'an..999 LLL', // additional data, private
    49: 'n3', // currency
    53: 'n16',
    54: 'an..999 LLL',
    55: 'b..999 LLL',
    57: 'n12',
    60: 'an..999 LLL',
    64: 'b8', // MAC
    66: 'n1',
    70: 'n3', // network management
    90: 'n42', // original
    95: 'an42',
    100: 'n..11 LL',
    128: 'b8', // MAC
  },
  types: {
    network: { sent: '0800', answer: '0810' },
    preauthorisation: { sent: '0100', answer: '0110' },
    financial: { sent: '0200', answer: '0210' },
    completion: { sent: '0220', repeat: '0221', answer: '0230' },
    reversal: { sent: '0420', repeat: '0421', answer: '0430' },
  },
  constants: {
    debit: '000000',
    credit: '200000',
    keyed: '012',
    storedCredential: '102',
    condition: '59',
    signOn: '001',
    signOff: '002',
    echo: '301',
  },
  cvv: { field: 47, before: 'CCV', after: '\\' },
  privateData: {
    field: 48,
    networkTransactionId: 'NT',
    initiation: 'CI',
    eci: 'EC',
    authenticationValue: 'AV',
    dsTransactionId: 'DS',
    threeDSecureVersion: '3V',
    advice: 'MA',
  },
  responseCodes: {
    // 77 is not an approval in this dialect.
    approvals: ['00', '08', '11', '16'],
    partialApprovals: ['10'],
    faults: ['96'],
    duplicates: ['94'],
    reversed: ['00', '21', '25', '76', '94'],
    unseen: ['25'],
    again: ['30', '68', '91', '96'],
    messages: RESPONSE_MESSAGES,
  },
};
