// What clients asked and when, what they were answered and when, or that nobody knows: the history that is judged in the end.
import { Agent, request } from 'node:http';
import type { Json } from '../../testkit/bodies.js';

export type CreatingKind = 'purchase' | 'preauthorisation' | 'refund' | 'completion' | 'void';
export const CREATING: readonly string[] = ['purchase', 'preauthorisation', 'refund', 'completion', 'void'];

/** A transaction as somebody was shown it. */
export interface Shown {
  readonly audit: number;
  readonly type: string;
  readonly reference: string;
  readonly targetAudit?: number;
  /** The answer to a void says none. */
  readonly amountCents?: number;
  readonly status: string;
  readonly gatewayCode: number;
  readonly refundableCents?: number;
  readonly completableCents?: number;
}

export interface Asked {
  readonly kind: CreatingKind | 'lookup' | 'search';
  /** Of a search: the one that it looks for. */
  readonly correlationId: string;
  /** No two requests have the same. */
  readonly reference?: string;
  /** Of a look-up: the one that is looked up. */
  readonly targetAudit?: number;
  readonly amountCents?: number;
}

/** Times are of one clock that never goes back, in milliseconds. */
export interface Recorded extends Asked {
  readonly client: number;
  readonly gateway: number;
  readonly sentMs: number;
  /** Every byte had left by then. */
  readonly leftMs?: number;
  /** Answered, or given up. */
  readonly endMs: number;
  /** Of HTTP; none where the outcome is not known. */
  readonly status?: number;
  readonly code?: string;
  /** Which the answer names. */
  readonly audit?: number;
  /** What the answer shows: of a search, nothing or one. */
  readonly shown?: readonly Shown[];
}

export interface Answered {
  readonly leftMs?: number;
  readonly status?: number;
  readonly body?: Json;
  readonly location?: string;
}

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly authorization: string;
  readonly correlationId?: string;
  readonly body?: Json;
  readonly timeoutMs: number;
}

const AGENT = new Agent({ keepAlive: true });

/** One request, however it ends. */
export function send({
  method,
  url,
  authorization,
  correlationId,
  body,
  timeoutMs,
}: Sent): Promise<Answered> {
  return new Promise((resolve) => {
    let leftMs: number | undefined;
    const known = () => (leftMs === undefined ? {} : { leftMs });
    const sent = request(url, {
      method,
      agent: AGENT,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization,
        ...(correlationId !== undefined && { 'x-correlation-id': correlationId }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
    });
    sent.on('error', () => resolve(known()));
    sent.on('finish', () => {
      leftMs = performance.now();
    });
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => resolve(known()));
      response.on('aborted', () => resolve(known()));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const { location } = response.headers;
        resolve({
          ...known(),
          status: response.statusCode ?? 0,
          ...(text !== '' && { body: JSON.parse(text) }),
          ...(location !== undefined && { location }),
        });
      });
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export function shownBy({ audit, status, transaction, kvps }: Json): Shown {
  const cents = (name: string) => {
    const text = kvps?.[`GATEWAY.RESPONSE.KVP.${name}`];
    return text === undefined ? undefined : Number(text);
  };
  const refundableCents = cents('REFUNDABLE_AMOUNT');
  const completableCents = cents('COMPLETABLE_AMOUNT');
  return {
    audit,
    type: transaction.transaction_type,
    reference: transaction.reference,
    amountCents: Number(transaction.amount_details.total_amount),
    status: status.transaction_status_code,
    gatewayCode: status.gateway_status_code,
    ...(transaction.target_audit !== undefined && { targetAudit: transaction.target_audit }),
    ...(refundableCents !== undefined && { refundableCents }),
    ...(completableCents !== undefined && { completableCents }),
  };
}

/** What is answered to the request that made it says less. */
export function createdBy(
  { audit, status }: Json,
  { kind, reference = '', targetAudit, amountCents }: Asked,
): Shown {
  return {
    audit,
    type: kind,
    reference,
    status: status.transaction_status_code,
    gatewayCode: status.gateway_status_code,
    ...(targetAudit !== undefined && { targetAudit }),
    ...(amountCents !== undefined && { amountCents }),
  };
}

/** The last number of an address. */
export function auditIn(address: string | undefined): number | undefined {
  return address === undefined ? undefined : Number(address.split('/').at(-1));
}
