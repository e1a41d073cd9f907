// The simulation behind docs/capacity.md, where its answer is known without it.
import { describe, expect, test } from 'vitest';
import { fitted, type Point } from '../../bench/capacity/costs.js';
import { type Costs, type Machines, simulate } from '../../bench/capacity/model.js';
import { Chance } from '../../testkit/chance.js';

const COSTS: Costs = {
  gatewayEach: 100,
  gatewayBatch: 200,
  databaseEach: 40,
  databaseBatch: 600,
  load: 20,
  commit: 150,
};
const MACHINES: Machines = {
  gateways: 1,
  gatewayCores: 8,
  databaseCores: 8,
  acquirerUs: 0,
  maxBatch: 256,
};
const run = () => ({ seconds: 2, chance: new Chance(7) });

describe('the simulation of purchases', () => {
  test('one connection → a purchase takes the sum of its costs, and is sent alone', () => {
    const { p50Ms, batch } = simulate(COSTS, MACHINES, { connections: 1 }, run());
    expect(p50Ms).toBeCloseTo((100 + 200 + 40 + 600 + 2 * 150) / 1000, 6);
    expect(batch).toBe(1);
  });

  test('more connections than one thread can serve → as many purchases as the thread has time for, in large batches', () => {
    const { perSecond, batch, gatewayBusy } = simulate(COSTS, MACHINES, { connections: 512 }, run());
    expect(perSecond).toBeGreaterThan(0.75 * (1e6 / (100 + 200 / batch)));
    expect(perSecond).toBeLessThanOrEqual(1.02 * (1e6 / (100 + 200 / batch)));
    expect(batch).toBeGreaterThan(20);
    // It has nothing to do while all that it could go on with is in a batch.
    expect(gatewayBusy * 8).toBeGreaterThan(0.75);
    expect(gatewayBusy * 8).toBeLessThanOrEqual(1);
  });

  test('everything on one core → no more than the total work allows', () => {
    const one = { ...MACHINES, gatewayCores: 1, databaseCores: undefined };
    const { perSecond, batch, gatewayBusy } = simulate(COSTS, one, { connections: 64 }, run());
    expect(perSecond).toBeLessThanOrEqual(1.02 * (1e6 / (100 + 40 + 20 + 800 / batch)));
    expect(gatewayBusy).toBeGreaterThan(0.95);
  });

  test('random purchases, fewer than can be served → all are served, and a slow acquirer only adds its own time', () => {
    const slow = { ...MACHINES, acquirerUs: 300_000 };
    const { perSecond, p50Ms } = simulate(COSTS, slow, { perSecond: 2_000 }, run());
    // Those who came within the last 300 ms are not answered yet.
    expect(perSecond).toBeGreaterThan(2_000 * (1 - 0.31 / 1.6) * 0.9);
    expect(perSecond).toBeLessThan(2_000 * 1.1);
    expect(p50Ms).toBeGreaterThan(300);
  });

  test('the same seed → the same outcome', () => {
    const [one, other] = [1, 2].map(() => simulate(COSTS, MACHINES, { perSecond: 3_000 }, run()));
    expect(one).toEqual(other);
  });
});

test('costs of batches of several sizes → the cost of a purchase and of a batch', () => {
  const points = [1, 4, 20].map(
    (batch) => ({ batch, cpuMs: { gateway: (90 + 300 / batch) / 1000, database: 0.05, load: 0 } }) as Point,
  );
  const gateway = fitted(points, ({ cpuMs }) => cpuMs.gateway);
  expect([gateway.each, gateway.batch].map(Math.round)).toEqual([90, 300]);
  expect(Math.round(fitted(points, ({ cpuMs }) => cpuMs.database).batch)).toBe(0);
});
