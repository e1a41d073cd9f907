// The host names of organisations, and organisations that are in another cell or on their way: who is served here, and what the others
// are told.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { callerOf } from '../../src/payments/requests/operator-requests.js';
import type { Transaction } from '../../src/payments/transaction.js';
import { paymentBody } from '../../testkit/bodies.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import type { Answer, Client } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { scrape } from '../../testkit/scrape.js';

const SOON = { timeout: 300_000, interval: 50 };
const ACME = 'acme.pay.example';
const MOVED = '421 organisation_moved';

let gateway: TestGateway;
let stranger: Client;
beforeAll(async () => {
  gateway = await testGateway();
  stranger = gateway.as(gateway.stranger);
});
afterAll(() => gateway.close());

const tollgate = (...words: string[]) =>
  runHere(words, { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });

const said = ({ status, code }: Answer) => [status, ...(code === undefined ? [] : [code])].join(' ');
const linkOf = ({ body }: Answer) => body._links?.base?.href;

const at = (host: string | undefined) => (host === undefined ? {} : { headers: { host } });
const pay = (api: Client, host?: string, merchant = 1) =>
  api.call('/transactions/purchase', { body: paymentBody({ merchant }), ...at(host) });
const ask = (api: Client, host?: string) => api.call('/transactions/1', at(host));

/** Waits until the gateway has noticed a change. */
const becomes = (answer: () => Promise<Answer>, expected: string) =>
  vi.waitFor(async () => expect(said(await answer())).toBe(expected), SOON);

/** As an operator or a move would leave it: sealed. */
const reside = (residence: string, to?: string) =>
  gateway.sqlSealed(
    `UPDATE organisation SET residence = $1, moved_to = $2, moved_to_address = $3 WHERE id = 1`,
    [residence, to === undefined ? null : 'two', to ?? null],
  );

describe('an organisation with a host name', () => {
  beforeAll(async () => {
    expect((await pay(gateway.api)).status).toBe(201);
    const set = await tollgate('organisation', 'host', '1', '--name', ACME.toUpperCase());
    expect(set).toMatchObject({ code: 0, stdout: `Organisation 1 is served at https://${ACME} alone.\n` });
    await becomes(() => pay(gateway.api), MOVED);
  });
  afterAll(async () => {
    expect((await tollgate('organisation', 'host', '1', '--none')).code).toBe(0);
    await becomes(() => pay(gateway.api), '201');
  });

  test('is served under it, whatever its case and port, and listed with it', async () => {
    for (const host of [ACME, `${ACME}:8443`, 'Acme.Pay.Example', `${ACME}.`])
      expect(said(await pay(gateway.api, host)), host).toBe('201');
    const { stdout } = await tollgate('organisation', 'list', '--json');
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({ id: 1, host_name: ACME, residence: 'here' }),
    );
  });

  // catches(cells: an organisation is served under its own name)
  test('is served under no other name: 421, with where to call, and nothing is processed', async () => {
    const before = await gateway.ledger();
    for (const host of [undefined, 'other.pay.example', `x${ACME}`, `${ACME}.evil.example`, '203.0.113.7']) {
      const refused = await pay(gateway.api, host);
      expect([said(refused), linkOf(refused)], host).toEqual([MOVED, `https://${ACME}/`]);
      expect(said(await ask(gateway.api, host)), host).toBe(MOVED);
    }
    expect(await gateway.ledger()).toHaveLength(before.length);
  });

  test('tells nothing to whoever has no right credentials', async () => {
    const { username } = gateway.owner;
    const guess = gateway.as({ username, password: 'guess' });
    expect(said(await pay(guess, 'other.pay.example'))).toBe('401 unauthenticated');
  });

  // catches(cells: nobody is served under the name of another organisation)
  test('has it for itself: another one is served under every name but that, and cannot get it', async () => {
    for (const host of [undefined, 'any.pay.example', '203.0.113.7'])
      expect(said(await pay(stranger, host, 4)), host).toBe('201');
    await becomes(() => pay(stranger, ACME, 4), MOVED);
    for (const host of [ACME, `${ACME}:443`]) {
      const refused = await pay(stranger, host, 4);
      expect([said(refused), linkOf(refused)], host).toEqual([MOVED, undefined]);
    }
    const taken = await tollgate('organisation', 'host', '2', '--name', ACME);
    expect([taken.code, taken.stderr]).toEqual([1, 'tollgate: another organisation has this host name\n']);
  });
});

test('organisation host with what is no host name, for nobody, or without a word → refused', () =>
  expectEach(
    [
      ['1', '--name', 'acme_pay.example'],
      ['1', '--name', '203.0.113.7'],
      ['1', '--name', 'acme.pay.example:443'],
      ['1', '--name', 'a4111111111111111.example'],
      ['1', '--name', `${'a'.repeat(64)}.example`],
      ['99', '--name', ACME],
      ['1'],
    ],
    async (words) => {
      const { code, stderr } = await tollgate('organisation', 'host', ...words);
      expect(code).toBe(1);
      expect(stderr).toMatch(/host name takes labels|there is no organisation 99|name a host, or say --none/);
      expect(stderr).not.toContain('4111');
    },
  ));

describe('an organisation that moves', () => {
  let audit: number;
  beforeAll(async () => {
    await reside('here');
    await becomes(() => pay(gateway.api), '201');
    audit = (await pay(gateway.api)).body.audit;
  });
  afterAll(() => reside('here'));

  // catches(cells: nothing is created for an organisation that moves)
  test('closing → nothing is created, and everything can be looked up', async () => {
    await reside('closing');
    await becomes(() => pay(gateway.api), '503 not_processed');
    expect((await pay(gateway.api)).headers.get('retry-after')).toBe('1');
    expect(said(await gateway.api.lookUp(audit))).toBe('200');
    expect(said(await pay(stranger, undefined, 4))).toBe('201');
  });

  // catches(cells: an organisation that moves is looked up in one cell)
  test.each(['closed', 'arriving'])(
    '%s → neither is answered: the other cell may know more',
    async (residence) => {
      await reside(residence);
      await becomes(() => gateway.api.lookUp(audit), '503 unavailable');
      expect(said(await pay(gateway.api))).toBe('503 not_processed');
      expect(said(await gateway.api.search('x'))).toBe('503 unavailable');
    },
  );

  // catches(moved: a cell that an organisation has left denies nothing of it)
  test('closed, and a gateway that knows only that it was here → denies nothing', async () => {
    await reside('here');
    await becomes(() => gateway.api.lookUp(audit), '200');
    // Its user is read now, and then known for a moment.
    const colleague = gateway.as(gateway.colleague);
    expect(said(await colleague.lookUp(9_999))).toBe('404 transaction_not_found');
    await reside('closed');
    expect(said(await colleague.lookUp(9_999))).toBe('503 unavailable');
    expect(said(await colleague.search('x', 2))).toBe('503 unavailable');
  });

  // catches(moved: what was received before an organisation came from another cell is not processed)
  test('come from another cell → what was received before that is not processed', async () => {
    await reside('here');
    await becomes(() => pay(gateway.api), '201');
    // A number of which no process has heard.
    await gateway.sql(
      'UPDATE organisation SET arrived_absence = newest_absence + 2 FROM gateway WHERE id = 1',
    );
    await becomes(() => pay(gateway.api), '503 not_processed');
    expect(said(await gateway.api.lookUp(audit))).toBe('200');
    expect(said(await pay(stranger, undefined, 4))).toBe('201');
    await gateway.sql('UPDATE gateway SET newest_absence = newest_absence + 2');
    await becomes(() => pay(gateway.api), '201');
  });

  test('moved → 421 for everything, with where it is: its host name, or the address of the other cell', async () => {
    await reside('moved', 'https://two.pay.example');
    await becomes(() => gateway.api.lookUp(audit), MOVED);
    const refused = await pay(gateway.api);
    expect([said(refused), linkOf(refused)]).toEqual([MOVED, 'https://two.pay.example/']);
    await gateway.sqlSealed(`UPDATE organisation SET host_name = $1 WHERE id = 1`, [ACME]);
    await expect.poll(async () => linkOf(await pay(gateway.api)), SOON).toBe(`https://${ACME}/`);
    expect(said(await pay(gateway.api, ACME))).toBe(MOVED);
    const set = await tollgate('organisation', 'host', '1', '--none');
    expect([set.code, set.stderr]).toEqual([
      1,
      expect.stringContaining('moves, or has moved, to another cell (moved)'),
    ]);
    await gateway.sqlSealed(`UPDATE organisation SET host_name = NULL WHERE id = 1`);
  });

  test('moved → operators are refused, too', async () => {
    await reside('moved', 'https://two.pay.example');
    const words = [String(audit), '--organisation', '1', '--reason', 'test'];
    const { code, stderr } = await tollgate('transaction', 'refund', ...words);
    expect([code, stderr]).toEqual([1, expect.stringContaining('another cell (moved)')]);
  });

  // catches(cells: operators create nothing for an organisation that is elsewhere)
  test('moved → what operators have asked for before is not carried out', async () => {
    const database = operatorsDatabase(gateway);
    const target = { organisationId: 1, merchantId: 1 } as Transaction;
    const merchant = async () => (await callerOf(database, 'operator:account:test', target)).merchants.get(1);
    await reside('moved', 'https://two.pay.example');
    expect(await merchant()).toMatchObject({ altered: true });
    await reside('here');
    expect(await merchant()).toMatchObject({ altered: false });
    await database.close();
  });
});

describe('an organisation whose row somebody has changed in the database', () => {
  // catches(cells: nobody acts for an organisation that is not as it was sealed)
  // catches(cells: an organisation is sealed with where its clients are sent)
  test('→ neither pays nor is looked up, and that is reported', async () => {
    await reside('moved', 'https://two.pay.example');
    await becomes(() => pay(gateway.api), MOVED);
    const changes = {
      'opened again': `residence = 'here', moved_to = NULL, moved_to_address = NULL`,
      'sent elsewhere': `moved_to_address = 'https://evil.example'`,
      'given a host name': `host_name = 'evil.example'`,
    };
    for (const [what, change] of Object.entries(changes)) {
      await gateway.sql(`CREATE TABLE before AS SELECT * FROM organisation WHERE id = 1`);
      await gateway.sqlAs('tollgate_operator', `UPDATE organisation SET ${change} WHERE id = 1`);
      await becomes(() => gateway.api.lookUp(1), '503 unavailable');
      expect(said(await pay(gateway.api)), what).toBe('503 not_processed');
      const { code, stdout } = await tollgate('keys', 'verify');
      expect([code, stdout], what).toEqual([1, expect.stringContaining('organisation/1')]);
      const sealed = await tollgate('keys', 'seal', 'organisation/1');
      expect([sealed.code, sealed.stderr], what).toEqual([
        1,
        expect.stringContaining('cannot be sealed as it is'),
      ]);
      await gateway.sql(`UPDATE organisation o SET residence = b.residence, moved_to = b.moved_to,
        moved_to_address = b.moved_to_address, host_name = b.host_name FROM before b WHERE o.id = b.id`);
      await gateway.sql(`DROP TABLE before`);
      await becomes(() => gateway.api.lookUp(1), MOVED);
    }
    expect(gateway.logged()).toContain('"subject":"organisation/1"');
    expect(
      (await scrape(gateway.operatorsUrl)).sum('tollgate_broken_seals_total', { of: 'row' }),
    ).toBeGreaterThan(0);
    await reside('here');
    await becomes(() => pay(gateway.api), '201');
  });

  test('which had nothing of its own, and is given a host name → is not served, and keeps the name from nobody', async () => {
    await gateway.sqlAs(
      'tollgate_operator',
      `UPDATE organisation SET host_name = 'pay.example' WHERE id = 2`,
    );
    await becomes(() => pay(stranger, 'pay.example', 4), '503 not_processed');
    expect(said(await pay(gateway.api, 'pay.example'))).toBe('201');
    await gateway.sql(`UPDATE organisation SET host_name = NULL WHERE id = 2`);
    await becomes(() => pay(stranger, 'pay.example', 4), '201');
  });
});

describe('the database', () => {
  // catches(roles: who serves sends no client elsewhere)
  test('lets the login that serves say neither where an organisation is nor what it is called', async () => {
    for (const change of [`host_name = 'x.example'`, `residence = 'closing'`, `name = 'x'`])
      await expect(
        gateway.sqlAs('tollgate_application', `UPDATE organisation SET ${change} WHERE id = 1`),
        change,
      ).rejects.toMatchObject({ code: '42501' });
  });

  // catches(schema: clients are sent elsewhere only when their organisation has moved)
  test('takes no other address for an organisation that is here, and only one with TLS', async () => {
    const to = (residence: string, address: string) =>
      gateway.sql(
        `UPDATE organisation SET residence = $1, moved_to = 'two', moved_to_address = $2 WHERE id = 1`,
        [residence, address],
      );
    await expect(to('here', 'https://two.pay.example')).rejects.toMatchObject({
      constraint: 'moved_somewhere',
    });
    await expect(to('moved', 'http://two.pay.example')).rejects.toMatchObject({
      constraint: 'moved_to_https',
    });
    await expect(
      gateway.sql(`UPDATE organisation SET residence = 'moved' WHERE id = 1`),
    ).rejects.toMatchObject({ constraint: 'moved_somewhere' });
  });
});
