// What takes a proof of identity that is at most five minutes old: everything by which cards, money or rights go elsewhere.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TASKS } from '../../src/console/all-tasks.js';
import { ROUTES } from '../../src/console/routes/routes.js';
import { type ConsoleClient, sessionsAgo, signedIn } from '../../testkit/console.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
let stale: ConsoleClient;
beforeAll(async () => {
  gateway = await testGateway();
  stale = await signedIn(gateway);
  await sessionsAgo(gateway, stale.name, { proved: 60 });
});
afterAll(() => gateway.close());

/** Tasks that change something and take no fresh proof, each with the reason. */
const WITHOUT: Readonly<Record<string, string>> = {
  'transaction ask': 'asks about what is in doubt, and decides nothing',
  'approval refuse': 'moves no money',
  'checkout add': 'asks somebody to pay: money comes in',
  'checkout cancel': 'nobody can pay it any more',
  'schedule pause': 'nothing of it is paid',
  'schedule resume': 'goes on with what the merchant has asked for',
  'schedule cancel': 'nothing of it is paid any more',
  'token deactivate': 'can be taken back, and no card leaves',
  'token activate': 'the card can be paid with again, by whoever had it before',
  'acquirer test': 'sends a message that moves nothing',
  'webhook disable': 'can be taken back: events are kept',
  'webhook replay': 'sends events again to where they go anyway',
  'webhook resend': 'sends an event again to where it goes anyway',
  'webhook test': 'sends a message without content to where events go anyway',
  'settlement looked-at': 'notes that somebody has looked at a difference',
  'settlement reconcile': 'compares books, and changes none',
  'directdebit import-returns': 'takes over what the bank decided',
  'vault import': 'brings cards in, and lets none out',
  'clock advance': 'refused wherever there is a live merchant',
  'clock reset': 'refused wherever there is a live merchant',
  'cards review': 'makes what is due happen now',
  'keys verify': 'only reads',
  'journal verify': 'only reads',
  'journal checkpoint': 'only reads',
  'figures rebuild': 'counts again',
  'demo fill': 'refused wherever there is a live merchant',
  'counters advance': 'for a database that was restored, on the machine',
  'restored done': 'for a database that was restored, on the machine',
};

/** Of routes that no task declares. */
const ROUTES_WITHOUT = [
  /^POST \/sign-out/,
  /^POST \/sessions\/:id\/end$/,
  /^POST \/re-authenticate\//,
  /^POST \/settlement\/(reconcile|differences\/looked-at)$/,
];

test('every task that changes something → takes a fresh proof, or is in the list of those that need none', () => {
  const changing = TASKS.filter(
    ({ role, route }) => role !== undefined && (role !== 'viewer' || route?.startsWith('POST')),
  );
  // Somebody else’s sessions are shown to administrators alone.
  const unproved = changing.filter(({ fresh, route }) => !fresh && !route?.startsWith('GET'));
  expect(unproved.map(({ name }) => name).sort()).toEqual(Object.keys(WITHOUT).sort());
});

test('every route that changes something → the same', () => {
  const names = ROUTES.filter(({ kind }) => kind === 'closed').flatMap(({ options }) => {
    const isRecent = 'recent' in options && options.recent === true;
    const name = `${options.method} ${options.path}`;
    const ofTask = 'permission' in options ? (options.permission?.name ?? '') : '';
    const isListed = WITHOUT[ofTask] !== undefined || ROUTES_WITHOUT.some((pattern) => pattern.test(name));
    return options.method === 'GET' || isRecent || isListed ? [] : [name];
  });
  expect(names).toEqual([]);
});

test('a session whose proof is an hour old → every route that wants a fresh one is refused, whatever is sent', async () => {
  const wanted = ROUTES.filter(({ options }) => 'recent' in options && options.recent === true);
  expect(wanted.length).toBeGreaterThan(40);
  await expectEach(
    wanted.map((route) => [route.options.method, route.options.path] as const),
    async ([method, path]) => {
      const at = path.replaceAll(/:[a-z]+/gi, '1');
      const answer = method === 'GET' ? await stale.get(at) : await stale.post(at);
      expect([answer.status, answer.body.error_code]).toEqual([403, 'authentication_not_recent']);
    },
  );
});

// catches(console: a fresh proof for what redirects cards, money or rights)
test('as an administrator: acceptor, route, surcharge, card days, live merchant, suspension, deletion → nothing is changed', async () => {
  const state = () =>
    gateway.sql(
      `SELECT (SELECT json_agg(m ORDER BY id) FROM merchant m)::text AS merchants, (SELECT json_agg(r) FROM route r)::text AS routes,
        (SELECT json_agg(s) FROM surcharge_rule s)::text AS surcharges, (SELECT json_agg(c ORDER BY id) FROM customer c)::text AS customers`,
    );
  const before = await state();
  await expectEach(
    [
      ['/merchants/1', { acceptor: '123456789012345', card_days: 3650 }],
      ['/routes/1/set', { to: 'simulator', share: 100 }],
      ['/surcharges/1/set', { percent: 3 }],
      ['/merchants', { name: 'Live', organisation: 1, live: true }],
      ['/merchants/1/suspend', {}],
      ['/merchants/1/resume', {}],
      ['/customers/1/1/delete', {}],
    ],
    async ([path, body]) => {
      const answer = await stale.post(path as string, body);
      expect([answer.status, answer.body.error_code]).toEqual([403, 'authentication_not_recent']);
    },
  );
  expect(await state()).toEqual(before);
});
