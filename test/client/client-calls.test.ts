// The TypeScript client beside payments: lists, events, the vault, the memory, and what it lets nobody see.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Begun,
  type Ending,
  type Memory,
  type NewToken,
  OrganisationMoved,
  OutcomeUnknown,
  type Recovered,
  Refused,
  Tollgate,
} from '../../client/src/index.js';
import { CARD, paymentBody, targetedBody } from '../../testkit/bodies.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { meddledClient } from '../../testkit/meddled-client.js';
import { withoutChance } from '../../testkit/requests.js';
import { cardAccount } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let client: Tollgate;
beforeAll(async () => {
  gateway = await testGateway();
  client = new Tollgate({ baseUrl: gateway.baseUrl, ...gateway.owner });
});
afterAll(() => gateway.close());

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('lists', () => {
  test('history → every transaction once, the newest first, over several pages; a page’s cursor goes on from there', async () => {
    const reference = randomUUID();
    const audits: number[] = [];
    for (let made = 0; made < 5; made += 1) {
      audits.unshift((await client.purchase(paymentBody({ reference }))).audit);
    }
    const found = await allOf(client.history({ merchant_id: 1, reference, limit: 2 }));
    expect(found.map(({ audit }) => audit)).toEqual(audits);
    expect(found[0]).toMatchObject({ type: 'purchase', outcome: 'approved', gatewayStatus: 0 });
    const pages = client.history({ reference, limit: 2 }).pages();
    const { value: first } = await pages.next();
    expect(first?.results.map(({ audit }) => audit)).toEqual(audits.slice(0, 2));
    const rest = await allOf(client.history({ reference, limit: 2, after: first?.next as string }));
    expect(rest.map(({ audit }) => audit)).toEqual(audits.slice(2));
  });

  test('events → the existing ones, then each as it happens, across lost answers, until cancelled', async () => {
    const meddled = await meddledClient(gateway, { lookupTimeoutMs: 5_000 });
    const reference = randomUUID();
    await client.purchase(paymentBody({ reference, merchant: 2 }));
    const earlier = await allOf(client.events({ merchant_id: 2, wait: 0 }));
    expect(earlier.at(-1)?.data.transaction?.reference).toBe(reference);
    const controller = new AbortController();
    meddled.fatesOfLookups.push({ kind: 'pass' }, { kind: 'lose_answer' }, { kind: 'cut_answer' });
    const seen: string[] = [];
    const { signal } = controller;
    for await (const event of meddled.client.events({ merchant_id: 2, wait: 1 }, { signal })) {
      seen.push(event.id);
      if (event.data.transaction?.reference === `${reference}-last`) controller.abort();
      if (seen.length === earlier.length) {
        void client.purchase(paymentBody({ reference: `${reference}-last`, merchant: 2 }));
      }
    }
    expect(seen.slice(0, earlier.length)).toEqual(earlier.map(({ id }) => id));
    expect(new Set(seen).size).toBe(earlier.length + 1);
  });

  test('a look-up that finds nothing → Refused; a search that finds nothing → undefined', async () => {
    await expect(client.transaction(2_000_000_000)).rejects.toMatchObject({
      status: 404,
      code: 'transaction_not_found',
    });
    const query = { merchant_id: 1, correlation_id_lookup: randomUUID() };
    expect(await client.search(query)).toBeUndefined();
    await client.purchase(paymentBody(), { correlationId: query.correlation_id_lookup });
    expect(await client.search(query)).toMatchObject({ outcome: 'approved', type: 'purchase' });
  });

  test('a look-up that nobody answers → Unavailable, or the caller’s own reason', async () => {
    const { client: meddled, fatesOfLookups } = await meddledClient(gateway);
    fatesOfLookups.push(...Array.from({ length: 1_000 }, () => ({ kind: 'lose_request' }) as const));
    await expect(meddled.transaction(1, { outcomeTimeoutMs: 1_000 })).rejects.toMatchObject({
      name: 'Unavailable',
    });
    const reason = new Error('enough');
    const controller = new AbortController();
    const asked = meddled.transaction(1, { signal: controller.signal });
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });

  test('a settlement day', async () => {
    const day = await client.settlement('2026-11-16', { merchant_id: 1 });
    expect(day).toMatchObject({ date: '2026-11-16', lines: expect.any(Array) });
  });
});

describe('the vault', () => {
  const token = (change: Partial<NewToken> = {}): NewToken => ({
    preferred_name: randomUUID(),
    active: true,
    account: cardAccount(),
    ...change,
  });

  test('customers and tokens, every answer lost → created once, changed, paid with, and deleted', async () => {
    const { client: meddled, fates } = await meddledClient(gateway);
    const lose = () => fates.push({ kind: 'lose_answer' });
    const reference = randomUUID();
    lose();
    const customer = await meddled.customers.create({ reference, name: 'Ada Lovelace' });
    lose();
    await meddled.customers.update(customer.id, { name: 'Ada King' });
    expect(await meddled.customers.get(customer.id)).toMatchObject({ reference, name: 'Ada King' });
    expect((await allOf(meddled.customers.list({ reference, limit: 1 }))).map(({ id }) => id)).toEqual([
      customer.id,
    ]);
    lose();
    const stored = await meddled.tokens.create(customer.id, token());
    lose();
    await meddled.tokens.update(customer.id, stored.id, { active: false });
    expect((await meddled.tokens.get(customer.id, stored.id)).active).toBe(false);
    await meddled.tokens.update(customer.id, stored.id, { active: true });
    const further = await meddled.tokens.create(customer.id, token());
    const ids = (await allOf(meddled.tokens.list(customer.id, { limit: 1 }))).map(({ id }) => id);
    expect(ids).toEqual([stored.id, further.id]);
    const paid = await meddled.purchase(paymentBody({ pan: stored.virtual_pan }));
    expect(paid.outcome).toBe('approved');
    lose();
    await meddled.tokens.delete(customer.id, stored.id);
    lose();
    await meddled.customers.delete(customer.id);
    await expect(meddled.customers.get(customer.id)).rejects.toMatchObject({ status: 404 });
    await expect(meddled.customers.delete(customer.id)).rejects.toBeInstanceOf(Refused);
  });

  test('a token with the name of an older one, its answer lost → Refused, and not the older one', async () => {
    const { client: meddled, fates } = await meddledClient(gateway);
    const { id } = await meddled.customers.create({ reference: randomUUID(), name: 'Ada' });
    const { preferred_name } = await meddled.tokens.create(id, token());
    fates.push({ kind: 'lose_answer' });
    const other = token({ preferred_name, account: cardAccount({ 'CARD.PAN': '5555555555554444' }) });
    await expect(meddled.tokens.create(id, other)).rejects.toMatchObject({ code: 'preferred_name_in_use' });
  });

  test('of another merchant, by merchantId', async () => {
    const { id } = await client.customers.create({ reference: randomUUID(), name: 'Ada' }, { merchantId: 2 });
    await expect(client.customers.get(id)).rejects.toMatchObject({ status: 404 });
    expect((await client.customers.get(id, { merchantId: 2 })).id).toBe(id);
  });
});

/** A table in memory. */
class Table implements Memory {
  readonly rows = new Map<string, { begun: Begun; ending?: Ending }>();
  begin(begun: Begun) {
    this.rows.set(begun.correlationId, { begun: this.rows.get(begun.correlationId)?.begun ?? begun });
  }
  end(correlationId: string, ending: Ending) {
    this.rows.set(correlationId, { begun: this.rows.get(correlationId)?.begun as Begun, ending });
  }
  open() {
    return [...this.rows.values()].flatMap(({ begun, ending }) => (ending === undefined ? [begun] : []));
  }
}

describe('the memory', () => {
  test('has the correlation ID before anything is sent, and the outcome before the caller does', async () => {
    const memory = new Table();
    const order: string[] = [];
    const meddled = await meddledClient(gateway, {
      memory,
      beforeSend: ({ correlationId }) => void order.push(`${memory.rows.has(correlationId)}`),
      fetch: (url, init) => {
        order.push('sent');
        return fetch(url, init);
      },
    });
    const paid = await meddled.client.purchase(paymentBody({ amount: 700 }), {
      beforeSend: () => void order.push('of the call'),
    });
    expect(order).toEqual(['true', 'of the call', 'sent']);
    expect([...memory.rows.values()]).toEqual([
      {
        begun: expect.objectContaining({ operation: 'purchase', merchantId: 1, totalAmount: '700' }),
        ending: { kind: 'decided', audit: paid.audit, outcome: 'approved' },
      },
    ]);
  });

  test('cannot store the ID → nothing is sent; cannot store the outcome → the outcome is returned, and the entry stays open', async () => {
    const memory = new Table();
    const meddled = await meddledClient(gateway, { memory });
    memory.begin = () => Promise.reject(new Error('disk full'));
    await expect(meddled.client.purchase(paymentBody())).rejects.toThrow('disk full');
    expect(meddled.requests).toEqual([]);
    memory.begin = Table.prototype.begin;
    memory.end = () => Promise.reject(new Error('disk full'));
    expect((await meddled.client.purchase(paymentBody())).outcome).toBe('approved');
    expect(memory.open()).toHaveLength(1);
    expect(meddled.observed.map(({ kind }) => kind)).toContain('memory_failed');
  });

  test('of a killed process → the next one finds the outcome of each payment, and pays again under the same ID', async () => {
    const memory = new Table();
    const first = await meddledClient(gateway, { memory });
    // Killed as far as the gateway can see: it hears nothing more of these.
    const controller = new AbortController();
    first.fates.push({ kind: 'swallow_answer' }, { kind: 'lose_request' });
    const bodies = [paymentBody({ reference: randomUUID() }), paymentBody({ reference: randomUUID() })];
    const killed = bodies.map((body) => first.client.purchase(body, { signal: controller.signal }));
    const ended = Promise.all(killed.map((each) => expect(each).rejects.toBeInstanceOf(OutcomeUnknown)));
    await expect.poll(() => first.requests.filter((request) => request.startsWith('POST')).length).toBe(2);
    controller.abort();
    await ended;
    expect(memory.open()).toHaveLength(2);

    const second = first.another({ requestTimeoutMs: 1_000 });
    const found = (await allOf(second.recoverAll())) as Recovered[];
    expect(found.map(({ kind, begun }) => [kind, begun.reference]).sort()).toEqual(
      [
        ['decided', bodies[0].transaction.reference],
        ['not_processed', bodies[1].transaction.reference],
      ].sort(),
    );
    expect(memory.open()).toEqual([]);
    const again = found.find(({ kind }) => kind === 'not_processed') as Recovered;
    const { correlationId } = again.begun;
    expect(await second.purchase(bodies[1], { correlationId })).toMatchObject({ outcome: 'approved' });
    const rows = await gateway.sql('SELECT status FROM transaction WHERE reference = ANY($1)', [
      bodies.map(({ transaction }) => transaction.reference),
    ]);
    expect(rows).toEqual([{ status: 'approved' }, { status: 'approved' }]);
  });

  test('older than the gateway’s search reaches, and not found → unknown, and never “not processed”', async () => {
    const memory = new Table();
    const { another } = await meddledClient(gateway, { memory, requestTimeoutMs: 1 });
    memory.begin({
      correlationId: randomUUID(),
      operation: 'purchase',
      merchantId: 1,
      reference: 'long ago',
      totalAmount: '100',
      currency: 'AUD',
      begunAt: new Date(Date.now() - 24 * 3_600_000).toISOString(),
    });
    expect(await allOf(another().recoverAll())).toEqual([
      expect.objectContaining({ name: 'OutcomeUnknown', reason: 'too_old' }),
    ]);
    expect(memory.open()).toHaveLength(1);
  });
});

describe('secrets', () => {
  test('card number, CVV, expiry and account → in no hook, memory or error, whatever fails', async () => {
    const memory = new Table();
    const { client: meddled, fates, observed } = await meddledClient(gateway, { memory });
    const expiry = '0931';
    const shown: unknown[] = [];
    const show = (error: unknown) => shown.push(error, (error as Error).stack, (error as Error).cause);
    const secret = { pan: CARD, cvv: '9173', expiry };
    fates.push({ kind: 'answer_otherwise', status: 400 }, { kind: 'cut_answer' });
    await meddled.purchase(paymentBody(secret)).catch(show);
    await meddled.purchase(paymentBody(secret)).catch(show);
    await meddled.purchase(paymentBody({ ...secret, amount: '0', currency: 'XXA' })).catch(show);
    for (const where of [{ currency: CARD }, { reference: '4111-1111-1111-1111' }, { correlationId: CARD }]) {
      const body = paymentBody({ ...secret, ...where });
      const { correlationId } = { correlationId: undefined, ...where };
      await expect(meddled.purchase(body, { correlationId })).rejects.toThrow(TypeError);
    }
    await meddled.purchase(paymentBody({ ...secret, kvps: { [CARD]: CARD } })).catch(show);
    await meddled
      .purchase(paymentBody({ bankAccount: { account_number: '987654321', bsb: 'x' } }))
      .catch(show);
    await meddled.void(2_000_000_000, targetedBody({})).catch(show);
    const account = cardAccount({ 'CARD.PAN': CARD, 'CARD.EXPIRY': '9999' });
    await meddled.tokens.create(1, { preferred_name: 'x', active: true, account }).catch(show);
    expect(shown.length).toBeGreaterThan(8);
    const told = observed.map((each) => ({ ...each, durationMs: 0, pauseMs: 0 }));
    const text = withoutChance(JSON.stringify([shown, told, [...memory.rows]]) + shown.map(String).join());
    for (const hidden of [CARD, '9173', expiry, '987654321', '9999', gateway.owner.password]) {
      expect(text).not.toContain(hidden);
    }
  });
});

describe('an organisation that is served elsewhere', () => {
  const problem = { error_code: 'organisation_moved', error_message: 'Moved.', location: ['header', 'Host'] };
  const answering = (base: string, asked: string[], before: readonly Response[] = []) => {
    const answers = [...before];
    return async (url: unknown) => {
      asked.push(String(url));
      const links = { _links: { base: { href: base } } };
      return answers.shift() ?? Response.json({ errors: [problem], ...links }, { status: 421 });
    };
  };
  const options = (fetch: unknown) => ({
    ...gateway.owner,
    baseUrl: gateway.baseUrl,
    fetch: fetch as typeof globalThis.fetch,
    firstPauseMs: 1,
  });

  test('→ every call says where, and goes nowhere else; what was begun stays open', async () => {
    const asked: string[] = [];
    const open: Begun[] = [];
    const ended: Ending[] = [];
    const memory: Memory = {
      begin: (begun) => void open.push(begun),
      end: (_, ending) => void ended.push(ending),
      open: () => open,
    };
    const at = new Tollgate({ ...options(answering('https://acme.pay.example/', asked)), memory });
    const correlationId = randomUUID();
    for (const call of [
      () => at.purchase(paymentBody(), { correlationId }),
      () => at.transaction(1),
      () => at.recover(open[0] as Begun),
    ]) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OrganisationMoved);
      expect(error).toBeInstanceOf(OutcomeUnknown);
      expect(error).toMatchObject({ base: 'https://acme.pay.example/', reason: 'moved' });
    }
    expect(asked).toHaveLength(3);
    expect(asked.every((url) => url.startsWith(gateway.baseUrl))).toBe(true);
    expect([open.map((begun) => begun.correlationId), ended]).toEqual([[correlationId], []]);
  });

  test('after a try of which nobody knows what became → the same, and not "refused"', async () => {
    const asked: string[] = [];
    const lost = [new Response('', { status: 502 })];
    const at = new Tollgate(options(answering('https://acme.pay.example/', asked, lost)));
    await expect(at.purchase(paymentBody())).rejects.toBeInstanceOf(OrganisationMoved);
  });

  test('at an address that is none → without it', async () => {
    for (const base of ['http://acme.pay.example/', 'https://user@evil.example/', 'javascript:alert(1)']) {
      const at = new Tollgate(options(answering(base, [])));
      await expect(at.transaction(1)).rejects.toMatchObject({ reason: 'moved', base: undefined });
    }
  });
});
