// A request under a correlation ID that is taken is a repetition, whatever else is wrong with it: told that it was refused, the
// client could take its first try for refused too.
import type { Lookup } from '../payments/finding/lookup.js';
import { correlationIdTaken } from '../payments/pipeline/create.js';
import type { RefusedRequest } from './problems.js';
import { refusalOf } from './refusals.js';
import type { AuthenticatedRequest } from './request-context.js';

/** The refusal for what an operation has thrown; undefined for what nobody foresaw. */
export async function refusalOfOperation(
  { creates = false }: { readonly creates?: boolean },
  context: AuthenticatedRequest,
  merchantId: unknown,
  error: unknown,
  lookup: Lookup,
): Promise<RefusedRequest | undefined> {
  const refusal = refusalOf(error, creates);
  if (!creates || refusal === undefined || !couldBeRepeated(refusal)) return refusal;
  return (await refusalAsRepeated(context, merchantId, lookup)) ?? refusal;
}

/** What was allowed when the first came may not be allowed any more. */
function couldBeRepeated({ status, code }: RefusedRequest): boolean {
  return status === 422 || code === 'operation_not_permitted' || code === 'merchant_suspended';
}

/** The merchant that a body names, whatever else is wrong with it. */
export function merchantIn(body: unknown): unknown {
  return (body as { merchant?: { id?: unknown } } | null | undefined)?.merchant?.id;
}

async function refusalAsRepeated(
  { caller, correlationId }: AuthenticatedRequest,
  merchantId: unknown,
  lookup: Lookup,
): Promise<RefusedRequest | undefined> {
  const merchant = typeof merchantId === 'number' ? caller.merchants.get(merchantId) : undefined;
  if (correlationId === undefined || merchant === undefined) return undefined;
  const holder = await lookup.holderOf(caller, merchant, correlationId).catch(() => undefined);
  return refusalOf(correlationIdTaken(holder), true);
}
