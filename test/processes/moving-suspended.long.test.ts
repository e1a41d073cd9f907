// A gateway of the source is suspended (SIGSTOP) while an organisation moves, long past its heartbeat. When it wakes it knows nothing of
// the move, and commits nothing, sends nothing and denies nothing.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Answer, type Client, client } from '../../testkit/client.js';
import {
  type GatewayProcess,
  leaveNothingBehind,
  startGatewayProcess,
} from '../../testkit/gateway-process.js';
import { SLOW_CARD } from '../../testkit/test-cards.js';
import { type TwoCells, twoCells } from '../../testkit/two-cells.js';

const SOON = { timeout: 300_000, interval: 50 };

let cells: TwoCells;
let sleeper: GatewayProcess;
/** Calls the one that is suspended. */
let api: Client;
beforeAll(async () => {
  cells = await twoCells();
  const { one } = cells;
  sleeper = await startGatewayProcess({
    ...cells.environment('one'),
    TOLLGATE_SIMULATOR_LEDGER: one.ledgerPath,
    TOLLGATE_SIMULATOR_SLOW_MS: '4000',
    TOLLGATE_ACQUIRER_DEADLINE_MS: '60000',
    TOLLGATE_PROCESS_TIMEOUT_MS: '2000',
  });
  api = client(sleeper.baseUrl, one.owner);
});
afterAll(async () => {
  sleeper?.kill('SIGCONT');
  await leaveNothingBehind();
  await cells?.close();
});

test('what it was asking, what waits in its sockets, and searches → nothing is paid, nothing is written, nothing is denied', async () => {
  const { one, two } = cells;
  const known = (await api.purchase({ amount: 100 })).body.audit;
  const asking = api.purchase({ pan: SLOW_CARD, amount: 200 });
  const claimed = await vi.waitUntil(async () => {
    const found = await one.sql<{ audit: number }>(`SELECT audit FROM transaction WHERE status = 'unknown'`);
    return found[0]?.audit;
  }, SOON);
  sleeper.kill('SIGSTOP');
  // The others presume it dead: what it was asking is decided before the source closes.
  const moved = await cells.command('one', 'organisation', 'move', '1', '--to', 'two', '--json');
  expect([moved.code, moved.stderr]).toEqual([0, '']);
  const correlationId = randomUUID();
  const paid = await vi.waitUntil(async () => {
    const { status, body } = await two.api.purchase({ amount: 300, correlationId });
    return status === 201 && (body.audit as number);
  }, SOON);
  const decided = (await two.api.decided(claimed)).status;
  expect(decided).toMatchObject({ gateway_status_code: 2, transaction_status_code: 'error' });
  const everything = () =>
    one.sql('SELECT t::text FROM transaction t WHERE organisation_id = 1 ORDER BY audit');
  const before = await everything();
  const waiting: Promise<Answer>[] = [
    api.purchase({ amount: 400 }),
    api.refund(known, 100),
    api.search(correlationId),
    api.lookUp(paid),
    api.lookUp(claimed),
  ];
  sleeper.kill('SIGCONT');
  for (const { status } of await Promise.all(waiting)) expect([421, 503]).toContain(status);
  // It does not know how its own payment has ended.
  expect([421, 502, 503, 504]).toContain((await asking).status);
  expect(await everything()).toEqual(before);
  expect((await two.api.lookUp(claimed)).body.status).toEqual(decided);
  // What it was asking arrives at the acquirer now, which refuses what was reversed meanwhile.
  const ledger = await one.ledger();
  const reversed = ledger
    .filter(({ operation }) => operation === 'reversal')
    .map(({ reference }) => reference);
  const charged = ledger
    .filter(({ operation, responseCode }) => operation === 'purchase' && responseCode === '00')
    .filter(({ reference }) => !reversed.includes(reference))
    .map(({ reference }) => Number(reference.split('-')[2]));
  expect(charged).toEqual([known, paid]);
  expect((await two.api.refund(known, 100)).status).toBe(201);
});
