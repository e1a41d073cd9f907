// Which vault a request is for, and the links that all vault operations share.
import { permittedMerchant } from '../merchants/callers.js';
import type { CustomerId } from '../values/ids.js';
import type { Customers, VaultAccess } from '../vault/customers.js';
import type { Tokens } from '../vault/tokens.js';
import { BASE_PATH } from './hal.js';
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
