// What a scrape of `/metrics` costs purchases. Under one steady load, one of every two seconds begins with a scrape and the other does
// not, chosen by chance: the machine's noise hits both alike.
import { setTimeout as sleep } from 'node:timers/promises';
import { Chance, newSeed } from '../testkit/chance.js';
import { freePort } from '../testkit/gateway-process.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { scrape } from '../testkit/scrape.js';
import { startStandalone } from '../testkit/standalone.js';

const values = programOptions({
  /** Of two seconds each. */
  pairs: 120,
  'warm-up': 15,
  seed: newSeed(),
});
const { pairs } = values;
const request = { ...PURCHASE, connections: 64 };
const random = new Chance(values.seed);
const LEAST_SHARE = 0.98;
/** Prometheus asks four times a minute unless it is told otherwise. */
const USUAL_PAUSE_SECONDS = 15;

const port = await freePort();
const operators = `http://127.0.0.1:${port}`;
const gateway = await startStandalone({ CONSOLE_PORT: String(port) });
try {
  await load(gateway, { ...request, seconds: values['warm-up'] });
  const loading = load(gateway, { ...request, seconds: 2 * pairs + 4 });
  // The first second is not a whole one.
  const first = Math.floor(Date.now() / 1000) + 2;
  const scraped: number[] = [];
  const tookMs: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const second = first + 2 * pair + (random.percent(50) ? 1 : 0);
    await sleep(Math.max(0, second * 1000 - Date.now()));
    const fromMs = performance.now();
    await scrape(operators);
    tookMs.push(performance.now() - fromMs);
    scraped.push(second);
  }
  const { bySecond, statuses } = await loading;
  const answered = (second: number) => bySecond[second] ?? 0;
  const beside = scraped.map((second) => answered(second + ((second - first) % 2 === 0 ? 1 : -1)));
  const shares = scraped.map((second, pair) => answered(second) / (beside[pair] as number));
  const sum = (counts: readonly number[]) => counts.reduce((whole, count) => whole + count, 0);
  const share = sum(scraped.map(answered)) / sum(beside);
  const mean = sum(shares) / pairs;
  const spread = Math.sqrt(sum(shares.map((each) => (each - mean) ** 2)) / (pairs - 1) / pairs);
  const { length: lines } = (await scrape(operators)).samples;
  say(
    `${pairs} pairs of seconds, ${Math.round(sum(beside) / pairs)} purchases/s without a scrape: with one each second ${share.toFixed(3)} of that ` +
      `(± ${spread.toFixed(3)}, median of the pairs ${median(shares).toFixed(3)}), with one every ${USUAL_PAUSE_SECONDS} s ` +
      `${(1 - (1 - share) / USUAL_PAUSE_SECONDS).toFixed(4)}; a scrape takes ${median(tookMs).toFixed(0)} ms and has ${lines} figures; ` +
      `answers ${JSON.stringify(statuses)}`,
  );
  if (share < LEAST_SHARE) process.exitCode = 1;
} finally {
  await gateway.stop();
}
