// Which vault a request is for, and the links and pages that all vault operations share.
import { permittedMerchant } from '../merchants/callers.js';
import type { CustomerId } from '../values/ids.js';
import type { Customers, PageEnd, VaultAccess } from '../vault/customers.js';
import type { Tokens } from '../vault/tokens.js';
import { BASE_PATH } from './hal.js';
import { MAX_INTEGER } from './limits.js';
import { type ProblemCode, refused } from './problems.js';
import type { CheckedRequest } from './request-context.js';

export interface VaultServices {
  readonly customers: Customers;
  readonly tokens: Tokens;
}

export const OF_VAULT: readonly ProblemCode[] = ['merchant_not_permitted', 'vault_not_enabled'];

export interface Access extends VaultAccess {
  /** Keeps links within the same vault. */
  readonly suffix: string;
}

export function accessOf({
  caller,
  correlationId,
  query,
}: CheckedRequest<unknown, { merchant_id?: number }>): Access {
  const merchant = permittedMerchant(caller, query.merchant_id ?? caller.assignedMerchantId);
  const { id: merchantId } = merchant;
  if (!merchant.vault) throw refused('vault_not_enabled', ['query', 'merchant_id']);
  return {
    organisationId: caller.organisationId,
    merchantId,
    username: caller.username,
    correlationId,
    suffix: merchantId === caller.assignedMerchantId ? '' : `?merchant_id=${merchantId}`,
  };
}

export function customerPath(id: number): string {
  return `${BASE_PATH}/customers/${id}`;
}

export function tokenPath(customerId: CustomerId, id: number): string {
  return `${customerPath(customerId)}/tokens/${id}`;
}

/** `first`, and `next` while there is more; both keep the query's filters. */
export function listLinks(
  path: string,
  query: object,
  page: { offset: number; limit: number; end: PageEnd | undefined },
) {
  const { offset: _offset, after: _after, ...filters } = query as Record<string, unknown>;
  const href = (extra: Record<string, unknown>) => {
    const parameters = new URLSearchParams(
      Object.entries({ ...filters, ...extra }).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]),
    ).toString();
    return { href: parameters === '' ? path : `${path}?${parameters}` };
  };
  return {
    first: href({}),
    ...(page.end !== undefined && {
      next: href({ offset: page.offset + page.limit, after: encodeEnd(page.end) }),
    }),
  };
}

function encodeEnd({ place, id }: PageEnd): string {
  return Buffer.from(JSON.stringify([place, id])).toString('base64url');
}

/** One that was not made here is as good as wrong. */
export function decodeEnd(after: string | undefined): PageEnd | undefined {
  if (after === undefined) return undefined;
  try {
    const [place, id] = JSON.parse(Buffer.from(after, 'base64url').toString('latin1')) as unknown[];
    if (
      typeof place === 'string' &&
      /^[ -~]*$/.test(place) &&
      Number.isInteger(id) &&
      (id as number) >= 0 &&
      (id as number) <= MAX_INTEGER
    ) {
      return { place, id: id as number };
    }
  } catch {
    // Refused below.
  }
  throw refused('field_format', ['query', 'after']);
}
