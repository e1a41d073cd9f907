// The operations that a crash may hit, so that each can be sent and its effect on the target checked in the same way.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer, Client } from './client.js';
import { eventually } from './gateway-process.js';

export const OPERATIONS = ['purchase', 'preauthorisation', 'completion', 'refund', 'void'] as const;
export type OperationName = (typeof OPERATIONS)[number];

/** One operation, ready to be sent, and sent again, under its correlation ID. */
export interface Attempt {
  readonly operation: OperationName;
  readonly correlationId: string;
  /** The card of the payment, or of the target. */
  readonly pan: string;
  readonly target: number | undefined;
}

const REFUND_CENTS = 4_000;
const COMPLETION_CENTS = 7_000;

/** Creates the target if one is needed, whatever the card does meanwhile. */
export async function prepare(api: Client, operation: OperationName, pan: string): Promise<Attempt> {
  const attempt = { operation, pan, correlationId: randomUUID() };
  if (operation === 'purchase' || operation === 'preauthorisation') return { ...attempt, target: undefined };
  const made = await (operation === 'completion' ? api.preauthorise({ pan }) : api.purchase({ pan }));
  const target = made.body.audit ?? Number(made.headers.get('location')?.split('/').at(-1));
  expect((await api.decided(target)).status.transaction_status_code).toBe('approved');
  return { ...attempt, target };
}

export function send(api: Client, { operation, correlationId, pan, target = 0 }: Attempt): Promise<Answer> {
  switch (operation) {
    case 'purchase':
      return api.purchase({ pan, correlationId });
    case 'preauthorisation':
      return api.preauthorise({ pan, correlationId });
    case 'completion':
      return api.complete(target, COMPLETION_CENTS, { correlationId });
    case 'refund':
      return api.refund(target, REFUND_CENTS, { correlationId });
    case 'void':
      return api.void(target, { correlationId });
  }
}

/** The audit of an attempt, as soon as it is stored. */
export function claimed(api: Client, { correlationId }: Attempt): Promise<number> {
  return eventually(async () => (await api.search(correlationId)).body.results[0]?.audit);
}

/** The target shows that the operation happened, or is unchanged. */
export async function expectTargetToShow(api: Client, attempt: Attempt, happened: boolean): Promise<void> {
  if (attempt.target === undefined) return;
  const { status, kvps, _links } = (await api.lookUp(attempt.target)).body;
  const amountLeft = (name: string) => kvps[`GATEWAY.RESPONSE.KVP.${name}`];
  switch (attempt.operation) {
    case 'completion':
      expect(amountLeft('COMPLETABLE_AMOUNT')).toBe(happened ? undefined : '10000');
      expect('completion' in _links).toBe(!happened);
      break;
    case 'refund':
      expect(amountLeft('REFUNDABLE_AMOUNT')).toBe(happened ? '6000' : '10000');
      break;
    case 'void':
      expect(status.transaction_status_code).toBe(happened ? 'voided' : 'approved');
      expect('void' in _links).toBe(!happened);
      break;
  }
}

/** A repeated request is refused, with a link to the holder of the correlation ID. */
export async function expectRepetitionRefused(api: Client, attempt: Attempt, audit: number): Promise<void> {
  const repeated = await send(api, attempt);
  expect(repeated.code).toBe('correlation_id_already_used');
  expect(repeated.status).toBe(409);
  expect(repeated.body._links.transaction.href).toBe(`/v1/transactions/${audit}`);
}
