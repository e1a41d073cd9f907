// Failing links are taken out for some seconds and tried again, for their organisation alone; and a silent link leaves capacity
// for the others.
import { afterAll, beforeAll, describe, expect, onTestFailed, test, vi } from 'vitest';
import type { AcquirerLink } from '../../../src/acquirers/contract.js';
import { FAILURES_IN_A_ROW, MOST_WITHOUT_ANOTHER_WAY } from '../../../src/acquirers/links.js';
import type { Answer } from '../../../testkit/client.js';
import { gatedAcquirer } from '../../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { heard, PATIENTLY, RoutedShops, type Shop } from '../../organisations/routed-shops.js';

const MASTERCARD = '5555555555554444';
const AMEX = '378282246310005';
const SILENT = { fault: 'lost request' } as const;

let gateway: TestGateway;
let shops: RoutedShops;
beforeAll(async () => {
  // Working links answer in time on a busy machine, too.
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '5000' } });
  shops = new RoutedShops(gateway);
});
afterAll(() => shops.close());

const many = (count: number, pay: () => Promise<Answer>) => Promise.all(Array.from({ length: count }, pay));
/** On a very busy machine the gateway is overloaded: not processed, to be sent again. */
const processed = (pay: () => Promise<Answer>) => async (): Promise<Answer> => {
  for (;;) {
    const answer = await pay();
    if (answer.status !== 503) return answer;
  }
};
const statusOf = ({ status, body }: Answer) =>
  status === 201 ? `${body.status.transaction_status_code} ${body.status.gateway_status_code}` : `${status}`;
const logged = (text: string) => gateway.logged().split(text).length - 1;

async function expectAll(answers: readonly Answer[], shop: Shop, link: string): Promise<void> {
  expect(new Set(answers.map(statusOf))).toEqual(new Set(['approved 0']));
  expect(new Set(await Promise.all(answers.map(shop.linkOf)))).toEqual(new Set([link]));
}

describe('a link that does not answer', () => {
  const OUT = '"link":"silent","msg":"acquirer link is failing';
  const BACK = '"link":"silent","msg":"acquirer link answers again"';

  // catches(breakers: a link that fails is taken out)
  test('→ taken out after several failures in a row: the next payments use another link at once; logged once, and once when it answers again', async () => {
    const [silent, other] = [await shops.host('silent'), await shops.host('other')];
    silent.rules.add(SILENT);
    const routes = [
      { acquirer: 'silent', order: 1 },
      { acquirer: 'other', order: 2 },
    ];
    const shop = await shops.shop(routes);
    const neighbour = await shops.shop(routes);
    expect((await many(FAILURES_IN_A_ROW, shop.pay)).map(statusOf)).toEqual(
      Array.from({ length: FAILURES_IN_A_ROW }, () => '504'),
    );
    const asked = () => heard(silent).filter((message) => message.startsWith('0200')).length;
    expect(asked()).toBe(FAILURES_IN_A_ROW);
    await expectAll(await many(20, shop.pay), shop, 'other');
    expect(asked()).toBe(FAILURES_IN_A_ROW);
    expect([logged(OUT), logged(BACK)]).toEqual([1, 0]);
    await vi.waitFor(async () => expect(await shops.failing('silent')).toEqual([1, [1]]), PATIENTLY);
    // One organisation's failures do not reroute another's payments.
    silent.rules.clear();
    await expectAll([await neighbour.pay()], neighbour, 'silent');
    await vi.waitUntil(async () => (await shop.linkOf(await shop.pay())) === 'silent', PATIENTLY);
    await expectAll(await many(20, shop.pay), shop, 'silent');
    expect([logged(OUT), logged(BACK)]).toEqual([1, 1]);
    await vi.waitFor(async () => expect(await shops.failing('silent')).toEqual([0, [0]]), PATIENTLY);
    expect(heard(other).length).toBeGreaterThanOrEqual(20);
  });

  // catches(breakers: and not by everybody at once)
  // catches(breakers: the only link there is keeps being tried)
  test('that is the only one → a few payments at a time still try it, the others are not sent at once; it answers → all are served', async () => {
    const gated = gatedAcquirer();
    onTestFailed(() => gated.release());
    let asked = 0;
    const alone: AcquirerLink = {
      ...gated,
      name: 'alone',
      ask: (order, prepared) => {
        asked += 1;
        if (asked <= FAILURES_IN_A_ROW) return Promise.resolve({ kind: 'unknown', reason: 'timeout' });
        return gated.ask(order, prepared, () => true);
      },
    };
    const lonely = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '60000', RESOLVER_INTERVAL_MS: '60000' },
      acquirers: [alone],
    });
    await lonely.sqlSealed(`UPDATE merchant SET acquirer = 'alone' WHERE id = 1`);
    const pay = () => lonely.api.purchase();
    expect((await many(FAILURES_IN_A_ROW, pay)).map(statusOf)).not.toContain('approved 0');
    let notSent = 0;
    const tried = many(60, async () => {
      const answer = await pay();
      if (statusOf(answer) === 'error 1') notSent += 1;
      return answer;
    });
    await expect.poll(() => notSent, PATIENTLY).toBe(60 - MOST_WITHOUT_ANOTHER_WAY);
    expect(asked).toBe(FAILURES_IN_A_ROW + MOST_WITHOUT_ANOTHER_WAY);
    gated.release();
    expect((await tried).filter((answer) => statusOf(answer) === 'approved 0')).toHaveLength(
      MOST_WITHOUT_ANOTHER_WAY,
    );
    expect(new Set((await many(60, pay)).map(statusOf))).toEqual(new Set(['approved 0']));
  });
});

// catches(breakers: a decline is an answer)
test('repeated declines → not a failure of the link', async () => {
  const strict = await shops.host('strict');
  strict.rules.add({ code: '05' });
  const shop = await shops.shop([
    { acquirer: 'strict', order: 1 },
    { acquirer: 'simulator', order: 2 },
  ]);
  for (let round = 0; round < 3; round += 1) {
    const answers = await many(FAILURES_IN_A_ROW, processed(shop.pay));
    expect(new Set(answers.map(statusOf))).toEqual(new Set(['declined 0']));
  }
});

describe('capacity', () => {
  // catches(room: links that do not answer leave some for the others)
  test('two links that never answer, with hundreds of payments each → a third serves all of its own, even of the same merchant', async () => {
    const [silent, mute] = [
      { ...gatedAcquirer(), name: 'silent' },
      { ...gatedAcquirer(), name: 'mute' },
    ];
    const release = () => {
      silent.release();
      mute.release();
    };
    onTestFailed(release);
    const crowded = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '120000', MAX_IN_FLIGHT: '300' },
      acquirers: [silent, mute],
    });
    await crowded.sqlSealed(`
      INSERT INTO route (organisation_id, merchant_id, acquirer, card_type)
      VALUES (1, 1, 'silent', 'visa'), (1, 1, 'mute', 'amex'), (1, 1, 'simulator', 'mastercard')`);
    await crowded.sqlSealed('UPDATE merchant SET acquirer = NULL WHERE id = 1');
    let refused = 0;
    const pay = (pan: string) => async () => {
      const answer = await crowded.api.purchase({ pan });
      if (answer.status === 503) refused += 1;
      return answer;
    };
    const pairs = Array.from({ length: 400 }, () => [pay('4111111111111111')(), pay(AMEX)()]);
    const stuck = pairs.flat();
    const stored = async () => {
      const rows = await crowded.sql<{ acquirer: string; count: number }>(
        'SELECT acquirer, count(*)::integer AS count FROM transaction GROUP BY acquirer ORDER BY acquirer',
      );
      return Object.fromEntries(rows.map(({ acquirer, count }) => [acquirer, count]));
    };
    await expect
      .poll(async () => {
        const { silent: first = 0, mute: second = 0 } = await stored();
        return first + second + refused;
      }, PATIENTLY)
      .toBe(800);
    const waiting = await stored();
    // Of the 240 that one organisation may have.
    expect((waiting.silent ?? 0) + (waiting.mute ?? 0)).toBeLessThanOrEqual(234);
    expect(Math.min(waiting.silent ?? 0, waiting.mute ?? 0)).toBeGreaterThan(54);
    for (let round = 0; round < 30; round += 1) {
      const answers = await many(5, () => crowded.api.purchase({ pan: MASTERCARD }));
      expect(answers.map(statusOf)).toEqual(Array.from({ length: 5 }, () => 'approved 0'));
    }
    release();
    const statuses = (await Promise.all(stuck)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([201, 503]));
  });

  test('a full link, and another with capacity → payments that can use both take the other', async () => {
    const silent = { ...gatedAcquirer(), name: 'silent' };
    onTestFailed(() => silent.release());
    const crowded = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '60000', MAX_IN_FLIGHT: '50' },
      acquirers: [silent],
    });
    await crowded.sqlSealed(
      `INSERT INTO route (organisation_id, merchant_id, acquirer, card_type) VALUES (1, 1, 'silent', 'visa')`,
    );
    const waiting = () => crowded.sql(`SELECT FROM transaction WHERE acquirer = 'silent'`);
    const stuck: Promise<Answer>[] = [];
    // One after the other: simultaneous ones count together for a moment. One link of one organisation gets nine tenths of four
    // fifths.
    for (let one = 1; one <= 36; one += 1) {
      stuck.push(crowded.api.purchase());
      await expect.poll(async () => (await waiting()).length, PATIENTLY).toBe(one);
    }
    const others = await many(3, () => crowded.api.purchase());
    expect(others.map(statusOf)).toEqual(others.map(() => 'approved 0'));
    expect(await waiting()).toHaveLength(36);
    silent.release();
    expect((await Promise.all(stuck)).map(statusOf)).toEqual(stuck.map(() => 'approved 0'));
  });
});
