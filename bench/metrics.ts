// `npm run bench:metrics`: purchases a second while somebody scrapes `/metrics` once a second, beside purchases a second while nobody does;
// in turns, since the machine is shared.
import { freePort } from '../testkit/gateway-process.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { scrape } from '../testkit/scrape.js';
import { startStandalone } from '../testkit/standalone.js';
import { measuredLoad } from './measured.js';

const values = programOptions({
  seconds: { type: 'string', default: '6' },
  rounds: { type: 'string', default: '9' },
  'warm-up': { type: 'string', default: '15' },
  /** How often somebody scrapes. */
  'every-ms': { type: 'string', default: '1000' },
});
const request = { ...PURCHASE, connections: 64, seconds: Number(values.seconds) };
const LEAST_SHARE = 0.98;

const port = await freePort();
const operators = `http://127.0.0.1:${port}`;
const gateway = await startStandalone({ CONSOLE_PORT: String(port) });
try {
  await load(gateway, { ...request, seconds: Number(values['warm-up']) });
  const shares: number[] = [];
  const costs: number[] = [];
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    // Who comes second has more stored before it: they change places.
    const order = round % 2 === 0 ? [true, false] : [false, true];
    const measured = new Map<boolean, Awaited<ReturnType<typeof measuredLoad>>>();
    let scrapes: number[] = [];
    for (const isScraped of order) {
      const scraping = isScraped ? scrapeUntilStopped() : undefined;
      measured.set(isScraped, await measuredLoad(gateway, request));
      if (scraping !== undefined) scrapes = await scraping.stop();
    }
    const [without, scraped] = [measured.get(false), measured.get(true)];
    if (without === undefined || scraped === undefined) throw new Error('a round was not measured');
    shares.push(scraped.perSecond / without.perSecond);
    costs.push(scraped.cpuMs.gateway / without.cpuMs.gateway);
    say(
      `round ${round}: ${without.perSecond} purchases/s, scraped ${scraped.perSecond} (${shares.at(-1)?.toFixed(3)}); ` +
        `CPU of the gateway ${costs.at(-1)?.toFixed(3)}; p99 ${without.p99Ms} and ${scraped.p99Ms} ms; ` +
        `${scrapes.length} scrapes, ${median(scrapes).toFixed(0)} ms each`,
    );
  }
  const lines = (await scrape(operators)).samples.length;
  say(
    `purchases while scraped every ${values['every-ms']} ms: ${median(shares).toFixed(3)} of those while nobody looks, ` +
      `CPU of the gateway for each ${median(costs).toFixed(3)}; ${lines} figures in a scrape`,
  );
  if (median(shares) < LEAST_SHARE) process.exitCode = 1;
} finally {
  await gateway.stop();
}

/** How long each scrape took. */
function scrapeUntilStopped(): { stop(): Promise<number[]> } {
  const tookMs: number[] = [];
  let underWay = Promise.resolve();
  const timer = setInterval(() => {
    const fromMs = performance.now();
    underWay = scrape(operators).then(() => void tookMs.push(performance.now() - fromMs));
  }, Number(values['every-ms']));
  return {
    stop: async () => {
      clearInterval(timer);
      await underWay;
      return tookMs;
    },
  };
}
