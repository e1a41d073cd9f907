// Finds the vault of a request, and makes the links that all vault operations share.
import { actingMerchant, type Merchant, permittedMerchant } from '../../organisations/users/callers.js';
import type { CustomerId } from '../../values/ids.js';
import type { Customers, VaultAccess } from '../../vault/customers.js';
import type { Tokens } from '../../vault/tokens.js';
import type { CheckedRequest } from '../operation.js';
import { type ProblemCode, refused } from '../problems.js';
import { BASE_PATH } from './hal.js';

export interface VaultServices {
  readonly customers: Customers;
  readonly tokens: Tokens;
}

export const OF_VAULT: readonly ProblemCode[] = ['merchant_not_permitted', 'vault_not_enabled'];
export const OF_CHANGING_VAULT: readonly ProblemCode[] = [...OF_VAULT, 'merchant_suspended'];

export interface Access extends VaultAccess {
  /** Keeps links within the same vault. */
  readonly suffix: string;
}

type VaultRequest = CheckedRequest<unknown, { merchant_id?: number }>;

export function accessOf(request: VaultRequest): Access {
  return accessTo(permittedMerchant(request.caller, namedMerchant(request)), request);
}

/** For operations that create or change something. */
export function accessToChange(request: VaultRequest): Access {
  return accessTo(actingMerchant(request.caller, namedMerchant(request)), request);
}

function namedMerchant({ caller, query }: VaultRequest): number {
  return query.merchant_id ?? caller.assignedMerchantId;
}

function accessTo(merchant: Merchant, { caller, address, correlationId }: VaultRequest): Access {
  const { id: merchantId } = merchant;
  if (!merchant.vault) throw refused('vault_not_enabled', ['query', 'merchant_id']);
  return {
    organisationId: caller.organisationId,
    merchantId,
    username: caller.username,
    userId: caller.userId,
    address,
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
