// Many clients that race for few transactions: they pay under the same correlation IDs, refund, complete and void the same targets, look
// them up and search for them, at either gateway. Each remembers when it asked and what it was told.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Json, paymentBody, targetedBody } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import type { CalledGateway } from '../../testkit/several-gateways.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';
import { type Asked, auditIn, createdBy, type Recorded, send, shownBy } from './record.js';

/** So many transactions' worth of racing, then another family takes its place. */
const FAMILY_OPERATIONS = 40;
const PAYMENT_IDS = 3;
const FOLLOWING_IDS = 4;

interface Known {
  readonly audit: number;
  readonly kind: string;
  readonly amountCents: number;
}

/** Correlation IDs that several use, and what came of them. */
interface Family {
  readonly name: string;
  left: number;
  readonly known: Known[];
}

export interface ShoppersOptions {
  readonly gateways: readonly CalledGateway[];
  readonly authorization: string;
  readonly merchantId: number;
  readonly random: Chance;
  readonly families: number;
}

export class Shoppers {
  readonly history: Recorded[] = [];
  readonly #families: Family[];
  #references = 0;
  #made = 0;

  constructor(private readonly options: ShoppersOptions) {
    this.#families = Array.from({ length: options.families }, () => this.#newFamily());
  }

  /** So many at once, until it is over. */
  async race(clients: number, isOver: () => boolean): Promise<void> {
    await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        const random = this.options.random.fork();
        while (!isOver()) {
          await this.#operate(client, random);
          await sleep(random.below(15));
        }
      }),
    );
  }

  /** In peace: what became of every correlation ID that was used, and of every transaction that was seen. */
  async lookAtEverything(): Promise<void> {
    const client = -1;
    const ids = new Set(
      this.history.filter(({ kind }) => kind !== 'lookup').map(({ correlationId }) => correlationId),
    );
    await inParallel([...ids], (correlationId) =>
      this.#untilAnswered(client, { kind: 'search', correlationId }),
    );
    const audits = this.history.flatMap(({ audit, shown = [] }) => [
      ...(audit === undefined ? [] : [audit]),
      ...shown.map((one) => one.audit),
    ]);
    await inParallel([...new Set(audits)], (targetAudit) =>
      this.#untilAnswered(client, { kind: 'lookup', correlationId: `last-${targetAudit}`, targetAudit }),
    );
  }

  async #operate(client: number, random: Chance): Promise<void> {
    const place = random.below(this.#families.length);
    const family = this.#families[place] as Family;
    family.left -= 1;
    if (family.left <= 0) this.#families[place] = this.#newFamily();
    const asked = this.#choose(family, random);
    const timeoutMs = random.percent(4) ? random.between(1, 40) : random.pick([1_500, 4_000]);
    const recorded = await this.#ask(client, asked, random.below(this.options.gateways.length), timeoutMs);
    // Nobody listens: it was not asked.
    if (recorded === undefined) return;
    for (const { audit, type, amountCents = 0 } of recorded.shown ?? [])
      this.#know(family, audit, type, amountCents);
    if (recorded.audit !== undefined && recorded.status !== 409)
      this.#know(family, recorded.audit, asked.kind, asked.amountCents ?? 0);
  }

  #choose({ name, known }: Family, random: Chance): Asked {
    const choice = random.below(100);
    const paymentId = () => `${name}-p${random.below(PAYMENT_IDS)}`;
    const followingId = () =>
      random.percent(40) ? `${name}-f${random.below(FOLLOWING_IDS)}` : `${name}-own-${this.#references}`;
    if (known.length === 0 || choice < 18) {
      if (choice % 3 === 0) return { kind: 'search', correlationId: paymentId() };
      return this.#creating(random.percent(60) ? 'purchase' : 'preauthorisation', paymentId());
    }
    const target = random.pick(known);
    if (choice < 45) return { kind: 'lookup', correlationId: `${name}-look`, targetAudit: target.audit };
    if (choice < 60)
      return {
        kind: 'search',
        correlationId: random.percent(50) ? paymentId() : `${name}-f${random.below(FOLLOWING_IDS)}`,
      };
    const kind = random.percent(20)
      ? 'void'
      : target.kind === 'preauthorisation'
        ? 'completion'
        : random.percent(85)
          ? 'refund'
          : 'void';
    return { ...this.#creating(kind, followingId(), target), targetAudit: target.audit };
  }

  /** Amounts differ, so that nobody mistakes one for another; of a target about a third, so that a few fit. */
  #creating(kind: Recorded['kind'], correlationId: string, target?: Known): Asked {
    this.#references += 1;
    const own = target === undefined ? 30_000 : Math.floor(target.amountCents / 3) - 400;
    const amountCents = Math.max(own, 1) + (this.#references % 700);
    return {
      kind,
      correlationId,
      reference: `r-${this.#references}`,
      ...(kind !== 'void' && { amountCents }),
    };
  }

  async #untilAnswered(client: number, asked: Asked): Promise<void> {
    for (let attempt = 0; attempt < 200; attempt += 1) {
      const recorded = await this.#ask(client, asked, attempt % this.options.gateways.length, 5_000);
      if (recorded?.status === 200 || recorded?.status === 404) return;
      await sleep(100);
    }
    throw new Error(`nobody answers a ${asked.kind} in peace`);
  }

  async #ask(
    client: number,
    asked: Asked,
    gateway: number,
    timeoutMs: number,
  ): Promise<Recorded | undefined> {
    const { gateways, authorization } = this.options;
    const baseUrl = gateways[gateway]?.baseUrl;
    if (baseUrl === undefined) return undefined;
    const sentMs = performance.now();
    const { method, path, body } = this.#request(asked);
    const isSearch = asked.kind === 'search' || asked.kind === 'lookup';
    const {
      leftMs,
      status,
      body: content,
      location,
    } = await send({
      method,
      url: baseUrl + path,
      authorization,
      ...(!isSearch && { correlationId: asked.correlationId }),
      ...(body !== undefined && { body }),
      timeoutMs,
    });
    const endMs = performance.now();
    const code = content?.errors?.[0]?.error_code;
    const audit = auditIn(location) ?? auditIn(content?._links?.transaction?.href);
    const shown =
      status === 201
        ? [createdBy(content, asked)]
        : status === 200
          ? (asked.kind === 'search' ? content.results : [content]).map(shownBy)
          : undefined;
    const recorded: Recorded = {
      ...asked,
      client,
      gateway,
      sentMs,
      endMs,
      ...(leftMs !== undefined && { leftMs }),
      ...(status !== undefined && { status }),
      ...(code !== undefined && { code }),
      ...(audit !== undefined && { audit }),
      ...(shown !== undefined && { shown }),
    };
    this.history.push(recorded);
    return recorded;
  }

  #request({ kind, correlationId, reference, targetAudit, amountCents }: Asked): {
    method: string;
    path: string;
    body?: Json;
  } {
    const merchant = this.options.merchantId;
    const named = reference === undefined ? {} : { reference };
    switch (kind) {
      case 'lookup':
        return { method: 'GET', path: `/transactions/${targetAudit}` };
      case 'search': {
        const query = new URLSearchParams({
          merchant_id: String(merchant),
          correlation_id_lookup: correlationId,
        });
        return { method: 'GET', path: `/transactions?${query}` };
      }
      case 'purchase':
      case 'preauthorisation': {
        // One in twelve is declined.
        const pan = this.#references % 12 === 0 ? { pan: DECLINED_CARD } : {};
        const body = paymentBody({ merchant, ...named, amount: amountCents ?? 1, ...pan });
        return { method: 'POST', path: `/transactions/${kind}`, body };
      }
      default:
        return {
          method: 'POST',
          path: `/transactions/${targetAudit}/${kind}`,
          body: targetedBody({ merchant, ...named, amount: amountCents }),
        };
    }
  }

  #newFamily(): Family {
    this.#made += 1;
    return { name: `family-${this.#made}`, left: FAMILY_OPERATIONS, known: [] };
  }

  #know({ known }: Family, audit: number, kind: string, amountCents: number): void {
    if (!known.some((one) => one.audit === audit)) known.push({ audit, kind, amountCents });
  }
}

async function inParallel<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
    }),
  );
}
