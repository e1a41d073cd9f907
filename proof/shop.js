// A merchant's backend that follows the specification's recovery procedure to the letter, and remembers what it was told.
import { setTimeout as sleep } from 'node:timers/promises';
import { call, Unanswered } from './client.js';
import { paymentBody, targetedBody } from './installation.js';

// Where processes are killed as fast as they start, a doubt waits until one of them lives for long enough.
const PATIENCE_MS = 300_000;
const PAUSE_MS = 20;

/**
 * @typedef {object} Order something that is to happen at most once
 * @property {string} reference its own, and nobody else's
 * @property {string} kind
 * @property {number} [amountCents]
 * @property {string} [pan]
 * @property {number} [targetAudit]
 * @property {Attempt[]} attempts
 *
 * @typedef {object} Attempt
 * @property {string} correlationId
 * @property {'answered' | 'found' | 'not found' | 'refused' | 'given up'} [end] how the shop learnt what became of it
 * @property {number} [audit]
 * @property {string} [status]
 * @property {number} [resolutionMs] from the failure to a decided status
 * @property {string} [complaint] an answer that should not be
 */

export class Shop {
  /** @type {Order[]} */
  orders = [];
  requests = 0;
  failures = {};
  #gateways;
  #random;
  #authorization;
  #merchantId;
  #impatientPercent;
  #onAnswered;

  /**
   * @param gateways objects with a `baseUrl`, undefined while nobody listens
   * @param onAnswered told of every attempt that was answered with 201, before the shop goes on
   */
  constructor({ gateways, random, authorization, merchantId, impatientPercent = 0, onAnswered = () => {} }) {
    this.#gateways = gateways;
    this.#random = random;
    this.#authorization = authorization;
    this.#merchantId = merchantId;
    this.#impatientPercent = impatientPercent;
    this.#onAnswered = onAnswered;
  }

  /** Sees the order through, under as many correlation IDs as it takes, and returns the last attempt. */
  async place(order, { triesAfterError = 1 } = {}) {
    this.orders.push(Object.assign(order, { attempts: [] }));
    let errors = 0;
    for (;;) {
      const attempt = { correlationId: `${order.reference}.${order.attempts.length + 1}` };
      order.attempts.push(attempt);
      await this.#attempt(order, attempt);
      if (attempt.end === 'not found') continue;
      // An error means that nothing was charged, so that the order is still to be paid.
      if (attempt.status !== 'error' || errors === triesAfterError) return attempt;
      errors += 1;
    }
  }

  async #attempt(order, attempt) {
    const impatient = this.#random.chance(this.#impatientPercent);
    const timeoutMs = impatient ? this.#random.between(1, 30) : this.#random.pick([2_000, 6_000]);
    let answer;
    try {
      this.requests += 1;
      answer = await this.#send(order, attempt.correlationId, timeoutMs);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      this.#count(error.message);
      return this.#recover(attempt, undefined);
    }
    if (answer.status === 201) {
      Object.assign(attempt, { end: 'answered', ...told(answer.body) });
      return this.#onAnswered(attempt);
    }
    if (answer.status >= 500) {
      this.#count(`${answer.status} ${answer.code}`);
      return this.#recover(attempt, answer.audit);
    }
    Object.assign(attempt, { end: 'refused', complaint: `refused with ${answer.status} ${answer.code}` });
    return undefined;
  }

  #send({ kind, targetAudit, ...order }, correlationId, timeoutMs) {
    const merchantId = this.#merchantId;
    const paths = { standalone_refund: 'refund' };
    const [path, body] =
      targetAudit === undefined
        ? [paths[kind] ?? kind, paymentBody({ ...order, merchantId })]
        : [`${targetAudit}/${kind}`, targetedBody({ ...order, merchantId })];
    return this.#call('POST', `/transactions/${path}`, { correlationId, body, timeoutMs });
  }

  #call(method, path, request) {
    const listening = this.#gateways.filter(({ baseUrl }) => baseUrl !== undefined);
    const { baseUrl } = this.#random.pick(listening.length > 0 ? listening : this.#gateways);
    return call({ baseUrl, authorization: this.#authorization }, method, path, request);
  }

  /** After a timeout, a lost connection or a 5XX: by audit if it is known, otherwise by correlation ID. */
  async #recover(attempt, audit) {
    const failedMs = performance.now();
    while (performance.now() - failedMs < PATIENCE_MS) {
      const found = audit === undefined ? await this.search(attempt) : await this.lookUp(audit);
      if (found === undefined) {
        attempt.end = 'not found';
        return;
      }
      if (found !== 'no answer') {
        audit = found.audit;
        const { transaction_status_code: status } = found.status;
        if (status !== 'unknown') {
          Object.assign(attempt, {
            end: 'found',
            ...told(found),
            resolutionMs: performance.now() - failedMs,
          });
          return;
        }
      }
      await sleep(PAUSE_MS);
    }
    Object.assign(attempt, {
      end: 'given up',
      audit,
      complaint: `not resolved within ${PATIENCE_MS / 1000} s`,
    });
  }

  /** The transaction, undefined when there is none, or that nobody answered this time. */
  async search({ correlationId }) {
    const query = new URLSearchParams({
      merchant_id: this.#merchantId,
      correlation_id_lookup: correlationId,
    });
    const answer = await this.#ask(`/transactions?${query}`);
    return answer?.status === 200 ? answer.body.results[0] : 'no answer';
  }

  async lookUp(audit) {
    const answer = await this.#ask(`/transactions/${audit}`);
    if (answer?.status === 404) return undefined;
    return answer?.status === 200 ? answer.body : 'no answer';
  }

  /** Searches for what the shop was told just now, as it may at any moment and at either gateway. */
  async checkAgain(attempt) {
    const found = await this.search(attempt);
    if (found === 'no answer' || attempt.status === undefined) return;
    const status = found?.status.transaction_status_code ?? 'not found';
    if (status !== attempt.status) attempt.complaint = `told ${attempt.status}, then found ${status}`;
  }

  async #ask(path) {
    try {
      const answer = await this.#call('GET', path, { timeoutMs: 5_000 });
      if (answer.status === 500) this.#count('500 to a look-up');
      return answer;
    } catch (error) {
      if (error instanceof Unanswered) return undefined;
      throw error;
    }
  }

  #count(failure) {
    this.failures[failure] = (this.failures[failure] ?? 0) + 1;
  }
}

function told({ audit, status }) {
  return { audit, status: status.transaction_status_code };
}
