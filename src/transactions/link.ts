// The link to an acquirer that a payment goes by: here, and nowhere else, test and live are kept apart.
import { type Acquirer, serves } from '../acquirers/contract.js';
import type { Merchant } from '../merchants/callers.js';
import type { Payment } from '../plugins/contract.js';
import { fault } from '../values/faults.js';

type Links = ReadonlyMap<string, Acquirer>;

/** A payment method without a link is refused before anything is stored. */
export function linkFor(merchant: Merchant, method: Payment['paymentMethod'], links: Links): Acquirer {
  const name = method === 'creditcard' ? merchant.acquirer : merchant.bank;
  const link = usableLink(name, merchant, links);
  if (link === undefined) throw fault('no_acquirer', 'payment method');
  return link;
}

/** The link of that name, if there is one and this merchant may use it. */
export function usableLink(
  name: string | null,
  { mode }: Pick<Merchant, 'mode'>,
  links: Links,
): Acquirer | undefined {
  const link = name === null ? undefined : links.get(name);
  return link !== undefined && serves(link, mode) ? link : undefined;
}
