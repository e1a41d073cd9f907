// Answers what there is no room for. It does not stand behind what was accepted, which takes long: it is answered at once, as
// long as that takes no more than its share of the time. Beyond that it waits, in turns over tenants: a client that asks
// again at once, thousands of times, is not served with the time of the others.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { refused } from '../../api/problems.js';
import { CORRELATION_HEADER, returnable } from '../../api/request-context.js';
import type { Tenant } from '../../payments/pipeline/room.js';
import { rawRefusal, withCorrelationId } from '../raw-refusal.js';
import { TenantLines } from './tenant-lines.js';

/** Of all time, the part that may be spent on these answers: less where it is the time of other tenants too. */
const SHARE = 0.1;
const SHARE_ALONE = 0.25;
/** Somebody who has asked for nothing for so long is not there. */
const PRESENT_MS = 1_000;
/** So much of it may be saved up. */
const MOST_SAVED_MS = 15;
/** How soon somebody looks again whether there is time. */
const PAUSE_MS = 1;

/** One line of the log for all that were shed within this time. */
const TELL_EVERY_MS = 1_000;

interface Held {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class Shedding {
  readonly #held = new TenantLines<Held>();
  #savedMs = MOST_SAVED_MS;
  #savedAtMs = performance.now();
  #isPlanned = false;
  /** How many were taken, since the start. */
  total = 0;
  /** Who has asked last, and since when nobody else has. */
  #present: Tenant | undefined;
  #aloneSinceMs = 0;
  readonly #refusal = rawRefusal(refused('not_processed'));
  readonly #tell: (tenant: Tenant) => void;
  readonly #goOn = () => this.#answerHeld();

  constructor(log: Logger) {
    this.#tell = telling(log);
  }

  /** Is told of every request, whether it is shed or not. */
  see(tenant: Tenant): void {
    if (tenant === this.#present) return;
    this.#present = tenant;
    this.#aloneSinceMs = performance.now();
  }

  take(tenant: Tenant, request: IncomingMessage, response: ServerResponse): void {
    this.total += 1;
    this.#tell(tenant);
    if (this.#held.size === 0 && this.#hasTime()) {
      this.#answer(request, response);
      return;
    }
    this.#held.add(tenant, { request, response });
    this.#plan();
  }

  #hasTime(): boolean {
    const nowMs = performance.now();
    const share = nowMs - this.#aloneSinceMs < PRESENT_MS ? SHARE : SHARE_ALONE;
    this.#savedMs = Math.min(MOST_SAVED_MS, this.#savedMs + share * (nowMs - this.#savedAtMs));
    this.#savedAtMs = nowMs;
    return this.#savedMs > 0;
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setTimeout(this.#goOn, PAUSE_MS);
  }

  #answerHeld(): void {
    this.#isPlanned = false;
    while (this.#held.size > 0 && this.#hasTime()) {
      const { request, response } = this.#held.next() as Held;
      // Unless its client has hung up.
      if (!response.destroyed) this.#answer(request, response);
    }
    if (this.#held.size > 0) this.#plan();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const fromMs = performance.now();
    const { status, headers, text } = this.#refusal;
    const id = returnable(request.headers[CORRELATION_HEADER]);
    response.writeHead(status, withCorrelationId(headers, id)).end(text);
    this.#savedMs -= performance.now() - fromMs;
  }
}

/** How many were shed, and whose most of them were. */
function telling(log: Logger): (tenant: Tenant) => void {
  const shed = new Map<Tenant, number>();
  const tell = () => {
    const most = [...shed].sort(([, one], [, other]) => other - one)[0] as [Tenant, number];
    const [tenant, count] = most;
    log.warn(
      {
        shed: [...shed.values()].reduce((sum, each) => sum + each, 0),
        most: count,
        ...(typeof tenant === 'number' ? { organisation: tenant } : { address: tenant }),
      },
      'overloaded',
    );
    shed.clear();
  };
  return (tenant) => {
    if (shed.size === 0) setTimeout(tell, TELL_EVERY_MS).unref();
    shed.set(tenant, (shed.get(tenant) ?? 0) + 1);
  };
}
