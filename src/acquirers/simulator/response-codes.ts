// The simulator's table of response codes: which of them approve, and what they say in words.
import type { AcquirerResponse, Decision } from '../contract.js';

const APPROVALS = new Set(['00', '08', '10', '11', '16', '77']);
const FAULT = '96';

const MESSAGES: Readonly<Record<string, string>> = {
  '00': 'Approved',
  '01': 'Refer to card issuer',
  '03': 'Invalid merchant',
  '04': 'Pick up card',
  '05': 'Do not honour',
  '08': 'Approved with identification',
  '10': 'Approved for a partial amount',
  '11': 'Approved VIP',
  '12': 'Invalid transaction',
  '13': 'Invalid amount',
  '14': 'Invalid card number',
  '15': 'No such issuer',
  '16': 'Approved, update track 3',
  '19': 'Re-enter the transaction',
  '30': 'Format error',
  '31': 'Bank not supported',
  '33': 'Expired card, pick up',
  '34': 'Suspected fraud',
  '36': 'Restricted card',
  '39': 'No credit account',
  '41': 'Lost card',
  '43': 'Stolen card',
  '51': 'Insufficient funds',
  '54': 'Expired card',
  '57': 'Transaction not permitted to cardholder',
  '58': 'Transaction not permitted to merchant',
  '59': 'Suspected fraud',
  '61': 'Exceeds the withdrawal limit',
  '62': 'Restricted card',
  '65': 'Exceeds the number of withdrawals',
  '75': 'Too many PIN tries',
  '77': 'Approved',
  '91': 'Issuer not available',
  '94': 'Duplicate transaction',
  '96': 'System error',
};

export function responseMessage(code: string): string {
  return MESSAGES[code] ?? 'Declined';
}

export function decision(response: AcquirerResponse): Decision {
  if (APPROVALS.has(response.responseCode)) return { kind: 'approved', ...response };
  return { kind: response.responseCode === FAULT ? 'faulty' : 'declined', ...response };
}

export function approves(code: string): boolean {
  return APPROVALS.has(code);
}
