// What gateways send to the host, as it passes the relay: no payment may leave a gateway after its reversal has.
import { read } from '../testkit/iso8583-host/codec.js';
import { AS2805 } from '../testkit/iso8583-host/dialects.js';
import { kindOf, requestOf } from '../testkit/iso8583-host/request.js';

/** What passes at the same time over two connections may have been sent in another order: the relay may have stood still. */
const AT_THE_SAME_TIME_MS = 200;

export class Wire {
  readonly #reversedAtMs = new Map<string, number>();
  /** Payments that were sent after their reversal. */
  readonly sentTooLate: string[] = [];

  hear(message: Buffer): void {
    const received = read(AS2805, message);
    const kind = kindOf(received.mti, AS2805.reversal);
    if (kind === undefined) return;
    const nowMs = Date.now();
    const { mti, key, original } = requestOf(received, kind, nowMs);
    if (kind === 'reversal' && original !== undefined && !this.#reversedAtMs.has(original.key))
      this.#reversedAtMs.set(original.key, nowMs);
    const reversedMs = this.#reversedAtMs.get(key);
    if (kind !== 'payment' || reversedMs === undefined) return;
    const afterMs = nowMs - reversedMs;
    if (afterMs > AT_THE_SAME_TIME_MS)
      this.sentTooLate.push(`${mti} ${key}, ${afterMs} ms after its reversal`);
  }
}
