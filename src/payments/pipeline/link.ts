// The link to an acquirer that a payment goes by: here, and nowhere else, test and live are kept apart.
import { type AcquirerLink, serves } from '../../acquirers/contract.js';
import type { AcquirerLinks, Breakers } from '../../acquirers/links.js';
import type { Routes } from '../../organisations/routing/routes.js';
import type { Merchant } from '../../organisations/users/callers.js';
import type { CardDetails } from '../../values/card.js';
import { fault } from '../../values/faults.js';
import type { OrganisationId } from '../../values/ids.js';
import type { Banks } from './banks.js';
import type { DirectCommand } from './command.js';
import type { PaymentMethod } from './payment-method.js';
import type { Room } from './room.js';

/** The link of that name, if it is open and this merchant may use it. */
export function linkToAsk(
  name: string,
  merchant: Pick<Merchant, 'mode'>,
  links: AcquirerLinks,
): AcquirerLink | undefined {
  // guard(links: one that is not open is asked nothing): opened ⇒ known
  return usable(links.opened(name), merchant);
}

function usable(link: AcquirerLink | undefined, { mode }: Pick<Merchant, 'mode'>): AcquirerLink | undefined {
  // guard(link: live merchants by live links only): !== undefined && serves(link, mode) ? link : undefined ⇒
  return link !== undefined && serves(link, mode) ? link : undefined;
}

/** The link that a payment goes over, and those that may be tried should it certainly not be sent. */
export interface ChosenLink {
  readonly acquirer: string;
  readonly others?: OtherLinks;
}

export interface OtherLinks {
  /** In the order in which they are tried. Never empty. */
  readonly names: readonly string[];
  /** After this none is tried: the client waits. */
  readonly untilMs: number;
}

export interface LinkChoiceParts {
  readonly links: AcquirerLinks;
  readonly banks: Banks;
  readonly routes: Routes;
  readonly room: Room;
  readonly breakers: Breakers;
  readonly deadlineMs: number;
}

/** The choice among the links that a merchant may use. */
export class LinkChoice {
  constructor(private readonly parts: LinkChoiceParts) {}

  /** The merchant's own. A payment method without a link is refused before anything is stored. That it is closed just now is no reason. */
  async own({ caller, merchant }: DirectCommand, { kind }: PaymentMethod): Promise<AcquirerLink> {
    const { links, banks } = this.parts;
    const { organisationId } = caller;
    const name =
      kind === 'card' ? merchant.acquirer : await banks.of({ organisationId, merchantId: merchant.id });
    const link = usable(name === null ? undefined : links.known(name), merchant);
    if (link === undefined) throw fault('no_acquirer', 'payment method');
    return link;
  }

  /** Of a merchant that has routes, for a card. Refuses where none of them, nor the merchant's own link, can take it. */
  async byRoutes(
    { caller, merchant, currency }: DirectCommand,
    { number }: CardDetails,
  ): Promise<ChosenLink> {
    const { routes, deadlineMs } = this.parts;
    const { organisationId } = caller;
    const table = routes.known(merchant) ?? (await routes.read(organisationId, merchant));
    const payment = { cardType: number.type, bin: number.bin, currency };
    const names = table.linksFor(payment, merchant.acquirer);
    const chosen = this.#first(names, merchant, organisationId, performance.now() + deadlineMs);
    if (chosen === undefined) throw fault('no_acquirer', 'payment method');
    return chosen;
  }

  /** The next of those that are left. */
  next(
    { names, untilMs }: OtherLinks,
    merchant: Merchant,
    organisationId: OrganisationId,
  ): ChosenLink | undefined {
    if (performance.now() >= untilMs) return undefined;
    return this.#first(names, merchant, organisationId, untilMs);
  }

  /** The first that works and has room; where none does, the first that has room; else the first. */
  #first(
    names: readonly string[],
    merchant: Merchant,
    organisationId: OrganisationId,
    untilMs: number,
  ): ChosenLink | undefined {
    const { links, room, breakers } = this.parts;
    // guard(routes: no route leads from test to live): usable(links.known(name), merchant ⇒ links.known(name
    const able = names.filter((name) => usable(links.known(name), merchant) !== undefined);
    const roomy = able.filter((name) => room.hasRoom(organisationId, name));
    const acquirer =
      roomy.find((name) => breakers.isWorthTrying(name, organisationId)) ?? roomy[0] ?? able[0];
    if (acquirer === undefined) return undefined;
    const rest = able.filter((name) => name !== acquirer);
    return rest.length === 0 ? { acquirer } : { acquirer, others: { names: rest, untilMs } };
  }
}
