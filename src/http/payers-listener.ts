// The payers' listener: pages of checkouts, and nothing of the interface or of the console. Everybody can call it, so it has bounds of its
// own, and its share of the time.
import type { Moment } from '../payments/finding/search-fence.js';
import { Turns } from './admission.js';
import type { ClientAddresses } from './authentication.js';
import { type Bounds, type Listener, type ListenerOptions, openListener } from './listener.js';
import type { Site } from './operators-listener.js';

interface PayersListenerOptions extends ListenerOptions {
  readonly backlog: number;
  readonly site: Site;
  readonly clientAddresses: ClientAddresses;
  readonly now: () => Moment;
}

const BOUNDS: Bounds = {
  listener: 'checkout',
  most: 4_096,
  // A household, an office or a mobile network behind one address.
  mostOfNetwork: 256,
  mostHandshakes: 512,
  limits: {
    requestTimeout: 15_000,
    headersTimeout: 10_000,
    keepAliveTimeout: 15_000,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: 16_384,
  },
};

/** Rejects if the address cannot be listened on. Workers share it. */
export function listenForPayers(options: PayersListenerOptions): Promise<Listener> {
  const { backlog, site, clientAddresses, now } = options;
  const turns = new Turns(now);
  return openListener(options, {
    bounds: BOUNDS,
    backlog,
    handle: (request, response) =>
      turns.take(clientAddresses.of(request), request, response, (begun, answer) =>
        site.answer(begun, answer),
      ),
    connectionAccepted: () => turns.connectionAccepted(),
    finishes: true,
  });
}
