// Every type of event that there is.

export const EVENT_TYPES = [
  'transaction.unknown',
  'transaction.approved',
  'transaction.declined',
  'transaction.pending',
  'transaction.error',
  'transaction.voided',
  'directdebit.returned',
  'customer.created',
  'customer.updated',
  'customer.deleted',
  'token.created',
  'token.updated',
  'token.deleted',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];
