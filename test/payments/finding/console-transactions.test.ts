// Transactions on the console: the list and its filters, one box that understands, files, and the life of one; for operators of one
// organisation and of all.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../../testkit/client.js';
import { type ConsoleClient, signedIn } from '../../../testkit/console.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { DECLINED_CARD, LOST_ANSWER_CARD } from '../../../testkit/test-cards.js';
import { vaultOf } from '../../../testkit/vault-client.js';

let gateway: TestGateway;
/** Of the whole installation, and of one organisation. */
let everybody: ConsoleClient;
let ours: ConsoleClient;
let theirs: ConsoleClient;
const made = { plain: 0, refunded: 0, refund: 0, declined: 0, resolved: 0, theirs: 0, byToken: 0, yen: 0 };
let token: { customerId: number; id: number; virtualPan: string };

beforeAll(async () => {
  gateway = await testGateway({ settings: { WEBHOOK_NETWORKS: '127.0.0.0/8' } });
  const { api } = gateway;
  const audit = async (answer: Promise<{ body: Json }>) => (await answer).body.audit as number;
  made.plain = await audit(
    api.purchase({ reference: 'order-77', amount: 1_995, correlationId: 'corr-plain' }),
  );
  made.refunded = await audit(
    api.purchase({ reference: '=HYPERLINK(1)', amount: 2_000, kvps: { NOTE: '<script>alert(1)</script>' } }),
  );
  made.refund = await audit(api.refund(made.refunded, 500));
  made.declined = await audit(api.purchase({ pan: DECLINED_CARD, merchant: 2, currency: 'NZD' }));
  made.yen = await audit(api.purchase({ amount: 600, currency: 'JPY', reference: 'yen' }));
  token = await vaultOf(api).newToken();
  made.byToken = await audit(api.purchase({ pan: token.virtualPan, reference: 'order-78' }));
  made.theirs = await audit(
    gateway.as(gateway.stranger).purchase({ merchant: 4, reference: 'order-79', amount: 1_995 }),
  );
  await api.purchase({ pan: LOST_ANSWER_CARD, reference: 'lost' });
  const [row] = await gateway.sql<{ audit: number }>(
    `SELECT audit FROM transaction WHERE reference = 'lost'`,
  );
  made.resolved = row?.audit as number;
  await api.decided(made.resolved);
  everybody = await signedIn(gateway, { role: 'viewer' });
  ours = await signedIn(gateway, { role: 'viewer', organisation: 1 });
  theirs = await signedIn(gateway, { role: 'viewer', organisation: 2 });
});
afterAll(() => gateway.close());

const found = async (client: ConsoleClient, query: string) => {
  const { status, body, text } = await client.get(`/transactions?${query}`);
  expect(status, text).toBe(200);
  return body.results.map(({ organisation, audit }: Json) => `${organisation}/${audit}`) as string[];
};
const one = (audit: number, organisation = 1) => `${organisation}/${audit}`;

describe('the list', () => {
  // catches(console: lists and files of an operator keep within the organisation)
  test('an operator of the whole installation → all transactions, newest first; of one organisation → those of that one', async () => {
    const all = await found(everybody, '');
    const stored = await gateway.sql<{ key: string }>(
      `SELECT organisation_id || '/' || audit AS key FROM transaction ORDER BY created_at DESC, audit DESC`,
    );
    expect(all).toEqual(stored.map(({ key }) => key));
    expect(await found(ours, '')).toEqual(all.filter((key) => key.startsWith('1/')));
    expect(await found(theirs, '')).toEqual([one(made.theirs, 2)]);
  });

  test('page by page over all organisations → each transaction once, in the same order', async () => {
    const seen: string[] = [];
    let after = '';
    do {
      const { body } = await everybody.get(`/transactions?limit=2${after}`);
      seen.push(...body.results.map(({ organisation, audit }: Json) => `${organisation}/${audit}`));
      after = body.next === null ? '' : `&after=${body.next}`;
    } while (after !== '');
    expect(seen).toEqual(await found(everybody, ''));
  });

  test.each([
    ['status=declined', () => [one(made.declined)]],
    ['currency=NZD', () => [one(made.declined)]],
    ['response_code=05', () => [one(made.declined)]],
    ['transaction_type=refund', () => [one(made.refund)]],
    ['amount=19.95', () => [one(made.theirs, 2), one(made.plain)]],
    ['amount=19.95&organisation=2', () => [one(made.theirs, 2)]],
    ['merchant=2', () => [one(made.declined)]],
    ['mode=live', () => []],
    ['acquirer=simulator&reference=order-7', () => [one(made.theirs, 2), one(made.byToken), one(made.plain)]],
    ['acquirer=nobody', () => []],
    ['organisation=1&target_audit=REFUNDED', () => [one(made.refund)]],
    ['organisation=1&customer_id=CUSTOMER', () => [one(made.byToken)]],
  ])('%s → exactly the matching transactions', async (query, expected) => {
    const asked = query
      .replace('REFUNDED', String(made.refunded))
      .replace('CUSTOMER', String(token.customerId));
    expect(await found(everybody, asked)).toEqual(expected());
  });

  test.each([
    [
      'a number within an organisation, where there are several',
      '/transactions?customer_id=1',
      422,
      'several_organisations',
    ],
    ['a filter that is misspelt', '/transactions?statuss=declined', 422, 'field_format'],
    ['a value that is none', '/transactions?status=paid', 422, 'field_format'],
    [
      'a card number as a reference',
      '/transactions?reference=4111111111111111',
      422,
      'card_number_misplaced',
    ],
    ['a page that nobody made', '/transactions?after=e30', 422, 'field_format'],
    [
      'a period that ends before it begins',
      '/transactions?from=2026-02-02&until=2026-02-01',
      422,
      'period_ends_before_it_begins',
    ],
  ])('%s → refused', async (_, path, status, code) => {
    const answer = await everybody.get(path);
    expect([answer.status, answer.body.error_code]).toEqual([status, code]);
  });

  test('an operator of another organisation names ours → 404', async () => {
    for (const path of [
      '/transactions?organisation=1',
      '/transactions?merchant=1',
      `/transactions/1/${made.plain}`,
      '/in-doubt?organisation=1',
      '/today?organisation=1',
      '/customers?merchant=1',
      `/customers/1/${token.customerId}`,
      '/transactions.csv?organisation=1',
    ])
      expect([path, (await theirs.get(path)).status]).toEqual([path, 404]);
  });
});

describe('the search box', () => {
  const understood = async (client: ConsoleClient, q: string) => {
    const { body, status } = await client.get(`/transactions?q=${encodeURIComponent(q)}`);
    expect(status).toBe(200);
    return {
      as: body.understood.map((meaning: Json) => meaning.as),
      found: body.results.map(({ organisation, audit }: Json) => `${organisation}/${audit}`),
      filters: body.understood.map((meaning: Json) => meaning.filter),
    };
  };

  test.each([
    ['a correlation ID', () => 'corr-plain', ['correlation_id'], () => [one(made.plain)]],
    [
      'the beginning of a reference',
      () => 'order-7',
      ['reference'],
      () => [one(made.theirs, 2), one(made.byToken), one(made.plain)],
    ],
    ['an amount', () => '$19.95', ['amount'], () => [one(made.theirs, 2), one(made.plain)]],
    ['an amount without decimals', () => '600', ['amount'], () => [one(made.yen)]],
    ['an amount with its currency', () => 'NZD 100.00', ['amount'], () => [one(made.declined)]],
    [
      'a virtual PAN',
      () => token.virtualPan.replace(/(.{4})/g, '$1 '),
      ['virtual_pan'],
      () => [one(made.byToken)],
    ],
  ])('%s → found, with how it was understood', async (_, q, as, expected) => {
    const answer = await understood(everybody, q());
    expect([answer.as, answer.found]).toEqual([as, expected()]);
  });

  test('four digits → every possible meaning, each with the filter that shows all its results', async () => {
    const { as, found: results, filters } = await understood(everybody, '1111');
    expect(as).toContain('last_four');
    expect(results).toContain(one(made.plain));
    expect(filters[as.indexOf('last_four')]).toEqual({ last_four: '1111' });
  });

  const written = (form: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-AU', { timeZone: 'Australia/Sydney', ...form }).format();
  test.each([
    ['1111 19.95 today', () => [one(made.theirs, 2), one(made.plain)]],
    [
      `${written({ day: 'numeric', month: 'short' })} $19.95 1111`,
      () => [one(made.theirs, 2), one(made.plain)],
    ],
    [`order-77 ${written({ month: 'long', year: 'numeric' })}`, () => [one(made.plain)]],
    [`order-77 ${written({ month: 'short' })}`, () => [one(made.plain)]],
    ['order-77 19.95', () => [one(made.plain)]],
    ['1995 order-77', () => []],
    ['declined NZD 100.00', () => [one(made.declined)]],
    ['visa refunds today', () => [one(made.refund)]],
    ['600 yesterday', () => []],
    ['19.95 20.00', () => []],
    ['19.95 18/11/2019', () => []],
  ])('several words, “%s” → what all of them hold for', async (q, expected) => {
    expect((await understood(everybody, q)).found).toEqual(expected());
  });

  test('words together → one meaning, with the filter that says the same', async () => {
    const { as, filters } = await understood(everybody, '1111 AUD 19.95 approved Nov 2031');
    expect([as, filters]).toEqual([[], []]);
    const today = await understood(everybody, '1111 AUD 19.95 approved today');
    const { from, until, ...others } = today.filters[0];
    expect([today.as, from === until, others]).toEqual([
      ['together'],
      true,
      { last_four: '1111', amount: '19.95', currency: 'AUD', status: 'approved' },
    ]);
    const again = new URLSearchParams(today.filters[0]);
    expect(await found(everybody, again.toString())).toEqual(today.found);
  });

  test('beside filters → these hold, too, whatever the text means', async () => {
    const beside = async (q: string, filter: string) => {
      const { body } = await everybody.get(`/transactions?q=${encodeURIComponent(q)}&${filter}`);
      return body.results.map(({ organisation, audit }: Json) => `${organisation}/${audit}`);
    };
    expect(await beside('order-7', 'organisation=2')).toEqual([one(made.theirs, 2)]);
    expect(await beside('order-7', 'amount=19.95')).toEqual([one(made.theirs, 2), one(made.plain)]);
    expect(await beside('declined', 'status=approved')).toEqual([]);
    expect(await beside('corr-plain', 'status=approved')).toEqual([one(made.plain)]);
    expect(await beside('corr-plain', 'status=declined')).toEqual([]);
    expect(await beside(String(made.plain), 'currency=NZD')).toEqual([]);
    expect(await beside('today', 'until=2020-01-01')).toEqual([]);
  });

  test('an audit → that transaction in each organisation that the operator may see', async () => {
    const mine = await understood(ours, String(made.plain));
    expect(mine.as[0]).toBe('audit');
    expect(mine.found[0]).toBe(one(made.plain));
    expect((await understood(theirs, String(made.theirs + 1_000_000))).found).toEqual([]);
  });

  test('a transaction of another organisation → not found in any way', async () => {
    for (const q of ['corr-plain', 'order-77', token.virtualPan, 'order-78'])
      expect([q, (await understood(theirs, q)).found]).toEqual([q, []]);
  });

  // catches(console: a card number is looked for nowhere)
  test('a card number → recognised as one, not searched for, and not repeated', async () => {
    const answer = await everybody.get('/transactions?q=4111%201111%201111%201111');
    expect(answer.body).toMatchObject({ results: [], understood: [{ as: 'card_number', found: 0 }] });
    expect(answer.text).not.toContain('1111');
    expect(gateway.logged()).not.toContain('4111%20');
  });

  test('a customer’s name → the customer’s payments', async () => {
    const { as, found: results, filters } = await understood(everybody, await nameOfCustomer());
    expect(as).toContain('customer');
    expect(results).toContain(one(made.byToken));
    expect(filters[as.indexOf('customer')]).toMatchObject({ organisation: 1, customer_id: token.customerId });
  });
});

async function nameOfCustomer(): Promise<string> {
  const [row] = await gateway.sql<{ name: string }>('SELECT name FROM customer WHERE id = $1', [
    token.customerId,
  ]);
  return row?.name as string;
}

describe('totals', () => {
  test('of a filter → how many there are, what they took and gave back, by currency; of others nothing', async () => {
    const totals = async (client: ConsoleClient, query: string) =>
      (await client.get(`/transactions/totals?${query}`)).body;
    const ofRefund = { currency: 'AUD', taken_cents: 0, given_back_cents: 500 };
    expect(await totals(everybody, 'transaction_type=refund')).toEqual({
      count: 1,
      more: false,
      sums: [ofRefund],
    });
    expect(await totals(everybody, 'status=declined')).toEqual({
      count: 1,
      more: false,
      sums: [{ currency: 'NZD', taken_cents: 0, given_back_cents: 0 }],
    });
    expect(await totals(theirs, '')).toEqual({
      count: 1,
      more: false,
      sums: [{ currency: 'AUD', taken_cents: 1_995, given_back_cents: 0 }],
    });
    expect((await theirs.get('/transactions/totals?organisation=1')).status).toBe(404);
  });
});

describe('files', () => {
  // catches(console: that a file was taken is journalled)
  test('of a filter → exactly its transactions, formulas made harmless, and journalled under the operator’s name', async () => {
    const { status, text, headers } = await everybody.get('/transactions.csv?organisation=1&status=approved');
    expect(status).toBe(200);
    expect(headers.get('content-disposition')).toBe('attachment; filename="transactions.csv"');
    const [head, ...lines] = text.trimEnd().split('\r\n');
    expect(head).toBe(
      'organisation,merchant,mode,audit,gateway_timestamp,transaction_type,status,amount_cents,currency,' +
        'reference,correlation_id,card,card_type,bank_account,response_code,settlement_date,target_audit,acquirer',
    );
    const keys = lines.map((line) => `${line.split(',')[0]}/${line.split(',')[3]}`);
    expect(keys).toEqual(await found(everybody, 'organisation=1&status=approved'));
    expect(text).toContain("'=HYPERLINK(1)");
    const [entry] = await gateway.sql(
      `SELECT actor, detail FROM journal WHERE action = 'transaction.exported' ORDER BY id DESC LIMIT 1`,
    );
    expect(entry).toEqual({ actor: `operator:${everybody.name}`, detail: 'to the console, by status' });
  });

  // catches(console: that a file was taken is journalled)
  test('of a refused filter → no file, and nothing in the journal', async () => {
    const before = await gateway.sql(`SELECT count(*) FROM journal WHERE action = 'transaction.exported'`);
    expect((await everybody.get('/transactions.csv?q=order')).status).toBe(422);
    expect((await theirs.get('/transactions.csv')).text.trimEnd().split('\r\n')).toHaveLength(2);
    expect((await everybody.get('/transactions.csv?status=paid')).status).toBe(422);
    const after = await gateway.sql(
      `SELECT count(*) - 1 AS count FROM journal WHERE action = 'transaction.exported'`,
    );
    expect(after).toEqual(before);
  });
});

describe('one transaction', () => {
  test('a refunded purchase → its history in order, the amount left, the permitted actions, and its refund', async () => {
    const { status, body, text } = await ours.get(`/transactions/1/${made.refunded}`);
    expect(status, text).toBe(200);
    expect(body).toMatchObject({
      mode: 'test',
      refundable_cents: 1_500,
      completable_cents: null,
      kvps: [{ key: 'NOTE', value: '<script>alert(1)</script>' }],
      transaction: { audit: made.refunded, refunded_cents: 500, card: '411111******1111', user: 'owner' },
    });
    expect(body.actions).toEqual([{ action: 'refund', most_cents: 1_500, until: null }]);
    expect(body.timeline.map(({ kind }: Json) => kind)).toEqual([
      'request',
      'claim',
      'acquirer',
      'answer',
      'event',
    ]);
    expect(body.timeline[0]).toMatchObject({ actor: 'user:owner' });
    expect(body.related.nodes.map(({ audit }: Json) => audit)).toEqual([made.refunded, made.refund]);
    expect(body.related.edges).toEqual([{ from: made.refund, to: made.refunded, kind: 'refund' }]);
    expect((await ours.get(`/transactions/1/${made.refund}`)).body.related).toEqual(body.related);
  });

  test('a transaction that was in doubt → doubt, resolver and both events, in the order in which they happened', async () => {
    const body = await vi.waitFor(async () => {
      const answer = await ours.get(`/transactions/1/${made.resolved}`);
      expect(answer.body.timeline.filter(({ kind }: Json) => kind === 'event')).toHaveLength(2);
      return answer.body;
    }, 300_000);
    const kinds = body.timeline.map(({ kind }: Json) => kind);
    expect(kinds.slice(0, 3)).toEqual(['request', 'claim', 'acquirer']);
    expect(kinds.indexOf('doubt')).toBeLessThan(kinds.indexOf('resolver'));
    expect(body.timeline.map(({ title }: Json) => title)).toEqual(
      expect.arrayContaining(['Event transaction.unknown', 'Event transaction.approved']),
    );
    expect(body.actions.map(({ action }: Json) => action)).toEqual(['refund', 'void']);
    const times = body.timeline.flatMap(({ at }: Json) => (at === null ? [] : [Date.parse(at)]));
    expect(times).toEqual(times.toSorted((a: number, b: number) => a - b));
  });

  // catches(console: a card number is looked for nowhere)
  test('an unknown one → 404; never a card number in any of them', async () => {
    expect((await ours.get('/transactions/1/999999')).status).toBe(404);
    expect((await ours.get('/transactions/1/0')).status).toBe(404);
    for (const audit of Object.values(made).filter((each) => each !== made.theirs))
      expect((await ours.get(`/transactions/1/${audit}`)).text).not.toMatch(/4111111111111111|42000000/);
  });
});
