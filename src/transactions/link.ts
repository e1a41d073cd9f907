// The link to an acquirer that a payment goes by: here, and nowhere else, test and live are kept apart.
import { type AcquirerLink, serves } from '../acquirers/contract.js';
import type { AcquirerLinks } from '../acquirers/links.js';
import type { Merchant } from '../merchants/callers.js';
import { fault } from '../values/faults.js';
import type { PaymentMethod } from './payment-method.js';

/** A payment method without a link is refused before anything is stored. That the link is closed just now is no reason. */
export function linkFor(merchant: Merchant, { kind }: PaymentMethod, links: AcquirerLinks): AcquirerLink {
  const name = kind === 'card' ? merchant.acquirer : merchant.bank;
  const link = usable(name === null ? undefined : links.known(name), merchant);
  if (link === undefined) throw fault('no_acquirer', 'payment method');
  return link;
}

/** The link of that name, if it is open and this merchant may use it. */
export function linkToAsk(
  name: string,
  merchant: Pick<Merchant, 'mode'>,
  links: AcquirerLinks,
): AcquirerLink | undefined {
  return usable(links.opened(name), merchant);
}

function usable(link: AcquirerLink | undefined, { mode }: Pick<Merchant, 'mode'>): AcquirerLink | undefined {
  return link !== undefined && serves(link, mode) ? link : undefined;
}
