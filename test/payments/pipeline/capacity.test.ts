// Capacity: which requests are accepted and which shed under overload. Without a gateway.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Capacity } from '../../../src/payments/pipeline/capacity.js';
import type { OrganisationId } from '../../../src/values/ids.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** How many of these are accepted. */
function entered(capacity: Capacity, tenant: number | string, count: number): number {
  let taken = 0;
  for (let one = 0; one < count; one += 1) {
    if (capacity.refuses(tenant)) continue;
    capacity.enter(tenant);
    taken += 1;
  }
  return taken;
}

/** Time passes: in each millisecond so many of a tenant are answered, and more arrive. */
function flow(
  capacity: Capacity,
  tenant: number,
  ms: number,
  { answers, wants }: { answers: number; wants: number },
) {
  let taken = 0;
  let left = 0;
  for (let passed = 0; passed < ms; passed += 1) {
    vi.advanceTimersByTime(1);
    for (let one = 0; one < answers; one += 1) {
      capacity.leave(tenant);
      left += 1;
    }
    taken += entered(capacity, tenant, wants);
  }
  return { taken, waiting: taken - left };
}

describe('admission by delay', () => {
  test('a burst of 3,000 at once → all are accepted', () => {
    expect(entered(new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 }), 1, 3_000)).toBe(3_000);
  });

  test('after a burst → the next one is accepted too', () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    entered(capacity, 1, 3_000);
    flow(capacity, 1, 1_500, { answers: 2, wants: 0 });
    vi.advanceTimersByTime(10_000);
    expect(entered(capacity, 1, 3_000)).toBe(3_000);
  });

  test('128 clients of one organisation that wait for slow answers → none is refused, and one more is accepted', () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    expect(entered(capacity, 1, 128)).toBe(128);
    for (let answered = 0; answered < 1_000; answered += 1) {
      vi.advanceTimersByTime(10);
      capacity.leave(1);
      expect(entered(capacity, 1, 1)).toBe(1);
    }
    // It may not have more, and others still have their share.
    expect(entered(capacity, 1, 100)).toBe(0);
    expect(entered(capacity, 2, 24)).toBe(24);
  });

  test('128 clients of two organisations that wait for their answers → none is refused', () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    expect([entered(capacity, 1, 120), entered(capacity, 2, 8)]).toEqual([120, 8]);
    for (let answered = 0; answered < 1_000; answered += 1) {
      vi.advanceTimersByTime(10);
      capacity.leave(1);
      capacity.leave(2);
      expect([entered(capacity, 1, 1), entered(capacity, 2, 1)]).toEqual([1, 1]);
    }
  });

  test('an overload by one organisation alone → as many wait as are served within the delay; another organisation comes → a fifth, and the newcomer is accepted', () => {
    const capacity = new Capacity({ maxInFlight: 50_000, maxDelayMs: 1_000 });
    entered(capacity, 1, 100);
    let waiting = 100 + flow(capacity, 1, 20_000, { answers: 4, wants: 8 }).waiting;
    // Four fifths of what is served in a second.
    expect(waiting).toBeGreaterThan(3_000);
    expect(waiting).toBeLessThan(4_000);
    for (let ms = 0; ms < 2_000; ms += 1) {
      if (ms % 20 === 0) {
        expect(entered(capacity, 2, 1)).toBe(1);
        if (ms >= 100) capacity.leave(2);
      }
      waiting += flow(capacity, 1, 1, { answers: 4, wants: 8 }).waiting;
    }
    // What is served in 200 ms.
    expect(waiting).toBeLessThan(810);
  });

  test('an address without known credentials beside one organisation → does not reduce its share', () => {
    const capacity = new Capacity({ maxInFlight: 50_000, maxDelayMs: 1_000 });
    entered(capacity, 1, 100);
    let waiting = 100;
    for (let ms = 0; ms < 20_000; ms += 1) {
      if (ms % 20 === 0) capacity.refuses('192.0.2.1');
      waiting += flow(capacity, 1, 1, { answers: 4, wants: 8 }).waiting;
    }
    expect(waiting).toBeGreaterThan(3_000);
  });

  test('a lasting load of twice the capacity → as many are accepted as are served, and few wait', () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    entered(capacity, 1, 100);
    const building = flow(capacity, 1, 8_000, { answers: 4, wants: 8 });
    const lasting = flow(capacity, 1, 2_000, { answers: 4, wants: 8 });
    expect(lasting.taken).toBeGreaterThan(0.95 * 8_000);
    expect(lasting.taken).toBeLessThanOrEqual(8_000);
    // What is served in 200 ms.
    expect(100 + building.waiting + lasting.waiting).toBeLessThan(810);
    // Another tenant is accepted at once.
    expect(capacity.refuses(2)).toBe(false);
  });

  test('an overload that is answered in batches → few wait, although each batch shortens the queue for a moment', () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    let waiting = entered(capacity, 1, 100) + flow(capacity, 1, 8_000, { answers: 4, wants: 8 }).waiting;
    for (let batch = 0; batch < 100; batch += 1) {
      vi.advanceTimersByTime(150);
      for (let one = 0; one < 600; one += 1) capacity.leave(1);
      waiting += entered(capacity, 1, 3_000) - 600;
      // What is served in 200 ms.
      expect(waiting).toBeLessThan(810);
    }
  });

  test('after an overload → the next burst is accepted', () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    entered(capacity, 1, 100);
    const { waiting } = flow(capacity, 1, 8_000, { answers: 4, wants: 8 });
    expect(entered(capacity, 1, 3_000)).toBeLessThan(10);
    flow(capacity, 1, Math.floor((100 + waiting) / 4), { answers: 4, wants: 0 });
    flow(capacity, 1, 600, { answers: 1, wants: 1 });
    expect(entered(capacity, 1, 3_000)).toBe(3_000);
  });

  test('a burst of one organisation that lasts too long → no more of it is accepted, another organisation still is', () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    entered(capacity, 1, 3_000);
    flow(capacity, 1, 4_500, { answers: 0, wants: 0 });
    expect(entered(capacity, 1, 10)).toBe(0);
    expect(entered(capacity, 2, 24)).toBe(24);
  });

  test('nothing is served for a while → hardly any request is accepted', () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    entered(capacity, 1, 500);
    flow(capacity, 1, 4_500, { answers: 0, wants: 0 });
    expect(entered(capacity, 1, 500)).toBe(0);
  });
});

describe('total capacity', () => {
  test('several organisations that want more than there is → equal shares, and a newcomer gets some', () => {
    const capacity = new Capacity({ maxInFlight: 1_000, maxDelayMs: 200 });
    const had = [0, 0, 0];
    for (let round = 0; round < 1_000; round += 1) {
      for (const tenant of [0, 1, 2]) had[tenant] = (had[tenant] ?? 0) + entered(capacity, tenant, 1);
    }
    expect(Math.max(...had) - Math.min(...had)).toBeLessThanOrEqual(1);
    expect(had[0]).toBeGreaterThan(300);
    expect(entered(capacity, 'newcomer', 50)).toBe(50);
  });

  test('a transaction that ends → frees capacity', () => {
    const capacity = new Capacity({ maxInFlight: 10, maxDelayMs: 200 });
    expect(entered(capacity, 1, 20)).toBe(8);
    capacity.leave(1);
    expect(entered(capacity, 1, 20)).toBe(1);
  });

  test('transactions that wait for an acquirer → do not count as queued in this process', async () => {
    const capacity = new Capacity({ maxInFlight: 5_000, maxDelayMs: 200 });
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const asking = Array.from({ length: 1_000 }, () => {
      capacity.enter(1);
      return capacity.asking(1 as OrganisationId, () => answered);
    });
    flow(capacity, 1, 5_000, { answers: 0, wants: 0 });
    expect(entered(capacity, 1, 100)).toBe(100);
    answer();
    await Promise.all(asking);
  });
});
