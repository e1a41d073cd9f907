// An organisation of the fleet, whose clients trade all the time under its host name, wherever it lives.
import { Tollgate } from '../../client/src/index.js';
import { basicAuthorization, paymentBody } from '../../testkit/bodies.js';
import { answerOf, type CallAnswer, type CallRequest, Unanswered } from '../../testkit/caller.js';
import type { Credentials } from '../../testkit/cast.js';
import type { Chance } from '../../testkit/chance.js';
import { callOverHttp, type HttpAnswer } from '../../testkit/http-call.js';
import { percentile } from '../../testkit/report.js';
import { Shop } from '../arena/shop.js';
import { storeCards, tradeTogether, type VirtualPans } from '../arena/trade.js';
import { WebhookBooks } from '../arena/webhook-books.js';
import type { Cell, CellName } from './cell.js';
import { CursorReader } from './cursor-reader.js';
import type { Entrance } from './entrance.js';

const TRADERS = 3;
const FAULT_PERCENT = 8;
/** The longest pause between two deals while it moves. */
const BUSY_PAUSE_MS = 60;
const MOVED = 421;

interface Added {
  readonly id: number;
  readonly merchantId: number;
  readonly host: string;
  readonly credentials: Credentials;
  readonly random: Chance;
  readonly webhooks: WebhookBooks | undefined;
  readonly storedMerchantId: number | undefined;
  readonly lookedAgainMs: number | undefined;
}

export interface AddOptions {
  readonly cell: Cell;
  readonly serial: number;
  readonly random: Chance;
  readonly hasWebhook: boolean;
  /** So many payments it has when the proof begins. */
  readonly stored: number;
  /** Between two look-ups of what is in doubt. */
  readonly lookedAgainMs: number | undefined;
}

/** An answer that one of its clients got. */
export interface Seen {
  readonly method: string;
  readonly status: number;
  readonly tookMs: number;
}

/** What its clients saw of a move. */
export interface Interruption {
  /** How many requests were answered 503 or 421, and from the first to the last of them. */
  readonly refused: number;
  readonly refusedMs: number;
  /** The longest time without an approval. */
  readonly gapMs: number;
}

/** A payment that was sent to a cell past the entrance. */
export interface Probe {
  readonly correlationId: string;
  readonly cell: CellName;
  readonly audit: number;
}

export class TradingOrganisation {
  readonly id: number;
  readonly merchantId: number;
  readonly host: string;
  readonly webhooks: WebhookBooks | undefined;
  readonly shop: Shop;
  readonly reader: CursorReader;
  readonly probes: Probe[] = [];
  /** Rounds of probes of which more than one was approved. */
  readonly paidInTwoCells: string[] = [];
  /** Requests that were answered 201. */
  answered = 0;
  onAnswer: ((seen: Seen) => void) | undefined;
  readonly storedMerchantId: number | undefined;
  #entrance: Entrance | undefined;
  #virtualPans: VirtualPans = new Map();
  #isBusy = false;
  #probeSerial = 0;
  #refusedAtMs: number[] = [];
  #approvedAtMs = 0;
  #gapMs = 0;

  private constructor(private readonly added: Added) {
    const { id, merchantId, host, random, webhooks, storedMerchantId, lookedAgainMs } = added;
    this.id = id;
    this.merchantId = merchantId;
    this.host = host;
    this.webhooks = webhooks;
    this.storedMerchantId = storedMerchantId;
    const calling = (method: string, path: string, request: CallRequest) => this.#call(method, path, request);
    this.shop = new Shop({
      calling,
      merchantId,
      random: random.fork(),
      impatientPercent: 3,
      retried: [MOVED],
      ...(lookedAgainMs !== undefined && { pauseMs: lookedAgainMs }),
    });
    this.reader = new CursorReader(calling, merchantId);
  }

  /** In its first cell. */
  static async add({
    cell,
    serial,
    random,
    hasWebhook,
    stored,
    lookedAgainMs,
  }: AddOptions): Promise<TradingOrganisation> {
    const name = `shop-${serial}`;
    const host = `${name}.pay.example`;
    const organisation = await cell.addOrganisation(name, host, stored);
    const { merchantId } = organisation;
    const webhooks = hasWebhook
      ? await WebhookBooks.open(
          { merchantId, command: (...words) => cell.command(...words), sql: (text) => cell.sql(text) },
          random.fork(),
        )
      : undefined;
    return new TradingOrganisation({ ...organisation, host, random, webhooks, lookedAgainMs });
  }

  /** Stores the cards that it pays with. */
  async prepare(entrance: Entrance): Promise<void> {
    this.#entrance = entrance;
    const client = new Tollgate({
      baseUrl: 'http://localhost/v1',
      ...this.added.credentials,
      fetch: async (address, request) => {
        const { method = 'GET', headers, body } = request ?? {};
        const { pathname, search } = new URL(String(address));
        const asked = {
          method,
          headers: Object.fromEntries(new Headers(headers)),
          ...(body ? { body: String(body) } : {}),
        };
        const answer = await entrance.send(this.host, pathname + search, asked);
        return new Response(answer.text === '' ? null : answer.text, {
          status: answer.status,
          headers: answer.headers,
        });
      },
    });
    this.#virtualPans = await storeCards(client);
  }

  trade(isOver: () => boolean, calmPauseMs: number): Promise<void> {
    return tradeTogether(TRADERS, {
      shop: this.shop,
      random: this.added.random,
      virtualPans: this.#virtualPans,
      faultPercent: FAULT_PERCENT,
      isOver,
      pauseMs: () => (this.#isBusy ? BUSY_PAUSE_MS : calmPauseMs),
    });
  }

  /** From now on it trades as fast as it can, and what its clients see of the move is counted. */
  beginMove(): void {
    this.#isBusy = true;
    this.reader.keepCursor();
    this.#refusedAtMs = [];
    this.#gapMs = 0;
    this.#approvedAtMs = performance.now();
  }

  endMove(): Interruption {
    this.#isBusy = false;
    const times = this.#refusedAtMs;
    return {
      refused: times.length,
      refusedMs: Math.round(percentile(times, 1) - percentile(times, 0)),
      gapMs: Math.round(this.#gapMs),
    };
  }

  /** Pays in each of these cells at once: one of them may take it. */
  async probe(cells: readonly Cell[]): Promise<void> {
    this.#probeSerial += 1;
    const round = this.#probeSerial;
    const paid = await Promise.all(cells.map((cell) => this.#probeOne(cell, `probe-${round}-${cell.name}`)));
    const found = paid.filter((probe) => probe !== undefined);
    this.probes.push(...found);
    if (found.length > 1)
      this.paidInTwoCells.push(
        `organisation ${this.id}: ${found.map(({ cell, audit }) => `audit ${audit} in ${cell}`).join(', ')}`,
      );
  }

  async #probeOne(cell: Cell, correlationId: string): Promise<Probe | undefined> {
    const [origin] = cell.origins;
    if (origin === undefined) return undefined;
    const body = paymentBody({ merchant: this.merchantId, reference: correlationId, amount: 100 });
    try {
      const request = this.#request('POST', { correlationId, body, timeoutMs: 4_000 });
      const { status, headers, text } = await callOverHttp(`${origin}/v1/transactions/purchase`, {
        ...request,
        headers: { ...request.headers, host: this.host },
      });
      const { audit, body: answered } = answerOf(status, headers, text);
      const isApproved = status === 201 && answered.status.transaction_status_code === 'approved';
      return isApproved && audit !== undefined ? { correlationId, cell: cell.name, audit } : undefined;
    } catch {
      return undefined;
    }
  }

  async #call(method: string, path: string, request: CallRequest): Promise<CallAnswer> {
    const askedMs = performance.now();
    let answer: HttpAnswer;
    try {
      answer = await (this.#entrance as Entrance).send(
        this.host,
        `/v1${path}`,
        this.#request(method, request),
      );
    } catch (error) {
      throw new Unanswered((error as { code?: string }).code ?? (error as Error).name);
    }
    const answered = answerOf(answer.status, answer.headers, answer.text);
    this.onAnswer?.({ method, status: answer.status, tookMs: performance.now() - askedMs });
    if (method === 'POST' && answer.status === 201) this.answered += 1;
    if (this.#isBusy) this.#note(method, answered);
    return answered;
  }

  #request(method: string, { correlationId, body, timeoutMs = 10_000 }: CallRequest) {
    return {
      method,
      headers: {
        authorization: basicAuthorization(this.added.credentials),
        ...(correlationId !== undefined && { 'x-correlation-id': correlationId }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    };
  }

  #note(method: string, { status }: CallAnswer): void {
    const nowMs = performance.now();
    if (status === 503 || status === MOVED) this.#refusedAtMs.push(nowMs);
    if (method !== 'POST' || status !== 201) return;
    this.#gapMs = Math.max(this.#gapMs, nowMs - this.#approvedAtMs);
    this.#approvedAtMs = nowMs;
  }
}
