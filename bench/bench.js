// `npm run bench`: purchases per second through HTTP with everything on one machine, beside a run with a statement per
// request. The machine is shared and noisy, so what counts is the ratio, taken in turns in one run.
import { parseArgs } from 'node:util';
import { load, PURCHASE, startGateway } from './gateway.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
  },
});
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const say = (line) => process.stdout.write(`${line}\n`);

const VARIANTS = [
  { name: 'group commit', settings: {} },
  { name: 'a statement per request', settings: { TOLLGATE_MAX_BATCH: '1' } },
];

const gateways = [];
for (const variant of VARIANTS) {
  gateways.push({ ...variant, results: [], gateway: await startGateway(variant.settings) });
}
say(
  `${connections} connections, ${values.rounds} rounds of ${seconds} s each, in turns; one machine for all.`,
);
try {
  for (const { gateway } of gateways) await load(gateway, { ...PURCHASE, connections, seconds: 2 });
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const { name, gateway, results } of gateways) {
      const result = await load(gateway, { ...PURCHASE, connections, seconds });
      results.push(result);
      say(
        `round ${round}  ${name.padEnd(24)} ${String(result.perSecond).padStart(6)}/s  p50 ${result.p50Ms} ms  p99 ${result.p99Ms} ms  ${JSON.stringify(result.statuses)}`,
      );
    }
  }
  const lone = await load(gateways[0].gateway, { ...PURCHASE, connections: 1, seconds: 3 });
  say(`one client alone: p50 ${lone.p50Ms} ms, p99 ${lone.p99Ms} ms`);
} finally {
  for (const { gateway } of gateways) await gateway.stop();
}

const median = ({ results }) =>
  results.map((result) => result.perSecond).sort((one, other) => one - other)[Math.floor(results.length / 2)];
const [grouped, single] = gateways.map(median);
say(
  `purchases per second: ${grouped} with group commit, ${single} with a statement per request: ${(grouped / single).toFixed(2)} times`,
);
if (Object.keys(gateways[0].results[0].statuses).join() !== '201') process.exitCode = 1;
