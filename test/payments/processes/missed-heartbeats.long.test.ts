// A process that cannot commit its heartbeat neither claims nor sends nor is ready before the others may presume it dead, and
// sends nothing that it claimed before.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Answer, Order, Prepared } from '../../../src/acquirers/contract.js';
import { processTimes } from '../../../src/payments/processes/process-times.js';
import { testGateway } from '../../../testkit/gateway.js';
import { locker } from '../../../testkit/locks.js';
import { answered, ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';

const PATIENTLY = { timeout: 300_000, interval: 50 };

test.each([
  [1_500, { heartbeatEveryMs: 300, staleAfterMs: 1_200, presumedDeadAfterMs: 1_500 }],
  [5_000, { heartbeatEveryMs: 1_000, staleAfterMs: 4_000, presumedDeadAfterMs: 5_000 }],
  // Search fences do not wait for longer, whatever the others do.
  [600_000, { heartbeatEveryMs: 1_000, staleAfterMs: 14_000, presumedDeadAfterMs: 600_000 }],
])(
  // catches(processes: one that missed its heartbeats is stale before the others presume it dead) slow
  'a process timeout of %i ms → it is stale a heartbeat before it may be presumed dead',
  (timeoutMs, times) => {
    expect(processTimes(timeoutMs)).toEqual(times);
  },
);

/** Waits for the test before it sends. */
class SlowToSend extends ScriptedAcquirer {
  readonly #waiting: (() => void)[] = [];

  override async ask(order: Order, _: Prepared = undefined, maySend = () => true): Promise<Answer> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return maySend() ? super.ask(order) : { kind: 'not_sent' };
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  send(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

async function started(acquirer: ScriptedAcquirer) {
  const settings = { PROCESS_TIMEOUT_MS: '3000', ACQUIRER_DEADLINE_MS: '60000' };
  const gateway = await testGateway({ acquirers: [acquirer], settings });
  onTestFinished(() => gateway.close());
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
  const ready = async () => {
    const response = await fetch(new URL('/readyz', gateway.baseUrl));
    const { reason } = (await response.json()) as { reason?: string };
    return { status: response.status, reason };
  };
  /** The registry is locked, and nothing else is wrong. */
  const hold = async () => {
    const { query, rollback } = await locker(gateway);
    await query('SELECT FROM process FOR UPDATE');
    return rollback;
  };
  return { gateway, ready, hold };
}

test('heartbeats that do not commit → not ready, payments are refused and nothing is sent; ready again once one commits', async () => {
  const acquirer = new ScriptedAcquirer();
  const { gateway, ready, hold } = await started(acquirer);
  await vi.waitUntil(async () => (await gateway.api.purchase()).status === 201, PATIENTLY);
  const asked = acquirer.requests.length;
  const release = await hold();
  await vi.waitUntil(async () => (await ready()).status === 503, PATIENTLY);
  expect((await ready()).reason).toBe('no heartbeat of this process was committed lately');
  const refused = await gateway.api.purchase();
  expect([refused.status, refused.code]).toEqual([503, 'not_processed']);
  expect(acquirer.requests).toHaveLength(asked);
  await release();
  await vi.waitUntil(async () => (await ready()).status === 200, PATIENTLY);
  // On a busy machine the next heartbeat may be late, too.
  await vi.waitUntil(
    async () => (await gateway.api.purchase()).body.status?.transaction_status_code === 'approved',
    PATIENTLY,
  );
});

// catches(processes: one that missed its heartbeats sends nothing of what it claimed before) slow
test('claimed before heartbeats were missed, and not sent yet → never sent: another process may have taken it over', async () => {
  const acquirer = new SlowToSend();
  const { gateway, ready, hold } = await started(acquirer);
  const claimed = gateway.api.purchase({ correlationId: 'claimed-before' });
  await vi.waitUntil(() => acquirer.waiting === 1, PATIENTLY);
  const release = await hold();
  await vi.waitUntil(async () => (await ready()).status === 503, PATIENTLY);
  await release();
  // Alive again, but its earlier claims are no longer its own.
  await vi.waitUntil(async () => (await ready()).status === 200, PATIENTLY);
  acquirer.send();
  expect((await claimed).body.status).toMatchObject({
    gateway_status_code: 1,
    transaction_status_code: 'error',
  });
  expect(acquirer.requests).toEqual([]);
});

// catches(processes: what a process left is not asked about before the deadline for its answer) slow
test('a live process whose heartbeats are delayed → the acquirer’s answer decides its payments, and the others do not reverse them', async () => {
  const acquirer = new ScriptedAcquirer();
  const { gateway, hold } = await started(acquirer);
  const other = await testGateway({
    acquirers: [acquirer],
    settings: { RESOLVER_INTERVAL_MS: '50', ACQUIRER_DEADLINE_MS: '60000' },
    shareWith: gateway,
  });
  onTestFinished(() => other.close());
  const answer = acquirer.holdNextAnswer();
  const answering = gateway.api.purchase({ correlationId: 'sent-before' });
  const reference = await answer.asked;
  const release = await hold();
  // The other presumes it dead, and takes over.
  await vi.waitUntil(
    async () => (await gateway.sql('SELECT FROM transaction WHERE resolve_at IS NOT NULL')).length === 1,
    PATIENTLY,
  );
  // Ten runs of the other, which has nothing else to resolve: only time shows that it leaves this one alone.
  await sleep(500);
  expect([acquirer.inquiries, acquirer.reversals]).toEqual([[], []]);
  answer.answer(answered('00'));
  expect((await answering).body.status.transaction_status_code).toBe('approved');
  await release();
  expect(acquirer.reversals).not.toContain(reference);
});
