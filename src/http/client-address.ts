// Where a request comes from. Whoever is connected may be a proxy; what it says of those before it counts as long as the operator
// trusts it. What a stranger says of itself never counts.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { type Networks, plainAddress } from '../values/network.js';

const UNKNOWN = 'unknown';

export class ClientAddresses {
  /** The proxies of the operator; none where it has no such. */
  constructor(private readonly trusted?: Networks) {}

  of({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    const peer = plainAddress(socket.remoteAddress ?? UNKNOWN);
    if (this.trusted === undefined) return peer;
    return this.#forwarded(peer, String(headers['x-forwarded-for'] ?? ''));
  }

  /**
   * Each proxy has added whom it was called by at the end. So it is read from there: the first address that is none of our
   * proxies is the client; what stands before it, the client may have made up.
   */
  #forwarded(peer: string, header: string): string {
    let address = peer;
    let end = header.length;
    // guard(addresses: the word of a stranger does not count): && this.trusted?.has(address) ⇒
    while (end > 0 && this.trusted?.has(address)) {
      // guard(addresses: read from the right): end - 1 ⇒ 0
      const comma = header.lastIndexOf(',', end - 1);
      // guard(addresses: read from the right): slice(comma + 1, end) ⇒ split(',')[0] as string
      const before = addressIn(header.slice(comma + 1, end));
      // What cannot be read says nothing: the last of ours that is known stands for it.
      if (before === undefined) return address;
      address = before;
      end = comma;
    }
    return address;
  }
}

/** Some proxies add the port. */
function addressIn(text: string): string | undefined {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*):\d+)$/.exec(text.trim()) ?? [];
  const address = plainAddress(bracketed ?? withPort ?? text.trim());
  return isIP(address) === 0 ? undefined : address;
}
