// Answers what there is no room for. It does not stand behind what was accepted, which takes long: each turn of the event loop has
// some time for it, in turns over tenants. The rest of a turn belongs to what was accepted.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { CORRELATION_HEADER, returnable } from '../api/correlation-id.js';
import { refused } from '../api/problems.js';
import type { Tenant } from '../transactions/room.js';
import { rawRefusal, withCorrelationId } from './raw-refusal.js';
import { TenantLines } from './tenant-lines.js';
import type { Turns } from './turns.js';

/** One line of the log for all that were shed within this time. */
const TELL_EVERY_MS = 1_000;

interface Held {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class Shedding {
  readonly #held = new TenantLines<Held>();
  /** How much time was spent on answers in this turn of the event loop. */
  #spentMs = 0;
  #isPlanned = false;
  readonly #refusal = rawRefusal(refused('not_processed'));
  readonly #tell: (tenant: Tenant) => void;
  readonly #nextTurn = () => this.#answerHeld();

  constructor(
    log: Logger,
    private readonly turns: Turns,
  ) {
    this.#tell = telling(log);
  }

  take(tenant: Tenant, request: IncomingMessage, response: ServerResponse): void {
    this.#tell(tenant);
    if (this.#held.size === 0 && this.#hasTime()) this.#answer(request, response);
    else this.#held.add(tenant, { request, response });
  }

  #hasTime(): boolean {
    return this.#spentMs < this.turns.turnMs;
  }

  #answerHeld(): void {
    this.#isPlanned = false;
    this.#spentMs = 0;
    while (this.#held.size > 0 && this.#hasTime()) {
      const { request, response } = this.#held.next() as Held;
      // Unless its client has hung up.
      if (!response.destroyed) this.#answer(request, response);
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#isPlanned) setImmediate(this.#nextTurn);
    this.#isPlanned = true;
    const fromMs = performance.now();
    const { status, headers, text } = this.#refusal;
    const id = returnable(request.headers[CORRELATION_HEADER]);
    response.writeHead(status, withCorrelationId(headers, id)).end(text);
    this.#spentMs += performance.now() - fromMs;
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
