// A wrong clock would date payments wrongly, so a gateway whose clock differs from the database's is not ready.
import { afterEach, expect, test, vi } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { eventually } from '../../testkit/gateway-process.js';
import { scrape } from '../../testkit/scrape.js';

const DAY_MS = 86_400_000;
const REASON = 'the clocks of gateway and database differ by more than five minutes';
const realMs = Date.now;
afterEach(() => vi.restoreAllMocks());

async function readiness({ baseUrl }: TestGateway): Promise<unknown> {
  return (await fetch(new URL('/readyz', baseUrl))).json();
}

test.each([
  // catches(clocks: a gateway whose clock is not the database’s is not ready)
  ['a day ahead of the database’s', DAY_MS, -1],
  ['a day behind the database’s', -DAY_MS, 1],
])(
  'the gateway’s clock is %s → not ready, in the log, the metrics and `doctor`; set right → ready',
  async (_, byMs, sign) => {
    const gateway = await testGateway();
    expect(await readiness(gateway)).toEqual({ status: 'ready' });
    expect((await scrape(gateway.operatorsUrl)).sum('tollgate_clock_difference_seconds')).toBeLessThan(300);

    vi.spyOn(Date, 'now').mockImplementation(() => realMs() + byMs);
    const notReady = { status: 'not ready', reason: REASON };
    await expect.poll(() => readiness(gateway)).toEqual(notReady);
    const seconds = (await scrape(gateway.operatorsUrl)).sum('tollgate_clock_difference_seconds') ?? 0;
    expect(Math.round(seconds / 86_400)).toBe(1);
    const [line] = gateway.logged().match(/^.*clocks of gateway and database differ: not ready.*$/m) ?? [];
    expect(Math.round(JSON.parse(line as string).seconds / 86_400)).toBe(sign);
    const { stdout } = await runHere(['doctor', '--json'], {
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_DATA_DIR: gateway.dataDir,
      TOLLGATE_PORT: new URL(gateway.baseUrl).port,
    });
    const { findings } = JSON.parse(stdout);
    expect(findings).toContainEqual({
      check: 'gateway',
      result: 'failed',
      found: expect.stringContaining(REASON),
      todo: 'set the wrong clock right, and keep both in step (NTP)',
    });
    expect(findings).toContainEqual({
      check: 'clock',
      result: 'failed',
      found: expect.stringContaining(sign < 0 ? 'is 24 hours ahead' : 'is 24 hours behind'),
      todo: 'set the wrong clock right, and keep both in step (NTP)',
    });

    vi.restoreAllMocks();
    await expect.poll(() => readiness(gateway)).toEqual({ status: 'ready' });
    await eventually(
      async () => gateway.logged().includes('the clocks of gateway and database agree again') || undefined,
    );
  },
);

test('the gateway’s clock was advanced by the operator → ready', async () => {
  const gateway = await testGateway();
  await gateway.advance('3d');
  expect(await readiness(gateway)).toEqual({ status: 'ready' });
  expect((await scrape(gateway.operatorsUrl)).sum('tollgate_clock_difference_seconds')).toBeLessThan(300);
});
