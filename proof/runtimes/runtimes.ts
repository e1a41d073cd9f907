// The TypeScript client works from its package in Node, Bun, Deno and workerd. Runtimes are those on the PATH or in a folder (`npm
// install bun deno workerd node@18`; `--tools FOLDER`). Each pays, loses answers, recovers and checks webhooks. The proof names missing
// runtimes and skips them.
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { freePort } from '../../testkit/gateway-process.js';
import { Installation } from '../../testkit/installation.js';
import { MeddlingProxy, PASS } from '../../testkit/meddling-proxy.js';
import { packed } from '../../testkit/packages.js';
import { programOptions } from '../../testkit/program-options.js';
import { compiledProgram, environmentWithoutSettings } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { verdict } from '../arena/verdict.js';
import type { TripPlan, TripReport } from './trip.js';

const { Webhook } = createRequire(import.meta.url)('standardwebhooks') as {
  Webhook: new (secret: string) => { sign(id: string, at: Date, body: string): string };
};

const values = programOptions({
  // Where npm has installed runtimes.
  tools: undefined,
});

const EXPECTED: TripReport = {
  purchase: 'approved',
  refused: 'Refused 422 card_number_invalid',
  lostAnswer: 'approved',
  lostAnswerCharges: '1',
  swallowedAnswer: 'approved',
  swallowedAnswerCharges: '1',
  nobodyThere: 'NothingSent time_is_up not_connected',
  webhook: 'transaction.approved',
  forgedWebhook: 'WebhookRejected wrong_signature',
};

const LIMIT_MS = 120_000;
const broken: Record<string, string[]> = {};
const run = promisify(execFile);
const folder = temporaryFolder('runtimes');
const own = values.tools === undefined ? [] : [join(values.tools, 'node_modules', '.bin')];
const env = { ...environmentWithoutSettings(), PATH: [...own, process.env.PATH].join(delimiter) };

/** Starts the trip in a runtime; resolves with what it printed or answered. */
type Way = (plan: TripPlan) => Promise<string>;

function asProgram(command: string, ...args: readonly string[]): Way {
  return async (plan) => {
    const { stdout } = await run(command, [...args, 'program.js'], {
      cwd: folder,
      env: { ...env, PLAN: JSON.stringify(plan) },
      timeout: LIMIT_MS,
    });
    return stdout;
  };
}

/** A server of workers is started, and a request to it makes the trip. */
const asWorker: Way = async (plan) => {
  const port = await freePort();
  await writeFile(
    join(folder, 'worker.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = .trip), (name = "internet", network = (allow = ["public", "private"]))],
      sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]);
    const trip :Workerd.Worker = (modules = [(name = "worker", esModule = embed "worker.js")], compatibilityDate = "2024-09-23");`,
  );
  const serving = spawn('workerd', ['serve', 'worker.capnp'], { cwd: folder, env, stdio: 'inherit' });
  try {
    for (let tries = 0; ; tries += 1) {
      const body = JSON.stringify(plan);
      const answer = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body }).catch(() => undefined);
      if (answer !== undefined) return await answer.text();
      if (tries === 100) throw new Error('workerd does not answer');
      await sleep(100);
    }
  } finally {
    serving.kill('SIGKILL');
  }
};

/** How each is asked for its version, and started. */
const RUNTIMES: Readonly<Record<string, readonly [command: string, way: Way, otherwise?: TripReport]>> = {
  'this Node': [process.execPath, asProgram(process.execPath)],
  'Node of --tools or PATH': ['node', asProgram('node')],
  Bun: ['bun', asProgram('bun')],
  Deno: ['deno', asProgram('deno', 'run', '--allow-all', '--node-modules-dir=manual')],
  // Its error says the same for a connection that never was and for one that broke.
  workerd: ['workerd', asWorker, { nobodyThere: 'OutcomeUnknown time_is_up broken' }],
};

/** The package as somebody gets it, the trip, and what starts it. */
async function prepare(): Promise<void> {
  const { tarball } = await packed('client', folder);
  const inside = join(folder, 'node_modules', 'tollgate-client');
  await mkdir(inside, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', inside, '--strip-components=1']);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'trip', type: 'module' }));
  await copyFile(compiledProgram('proof/runtimes/trip'), join(folder, 'trip.js'));
  await writeFile(
    join(folder, 'program.js'),
    `import process from 'node:process';
    import { trip } from './trip.js';
    console.log(JSON.stringify(await trip(JSON.parse(process.env.PLAN))));`,
  );
  await writeFile(
    join(folder, 'worker-entry.js'),
    `import { trip } from './trip.js';
    export default { fetch: async (request) => Response.json(await trip(await request.json())) };`,
  );
  // Workers are one file.
  const complaints: string[] = [];
  const bundle = await rolldown({
    input: join(folder, 'worker-entry.js'),
    platform: 'neutral',
    onLog: (_, { message }) => complaints.push(message),
  });
  await bundle.write({ file: join(folder, 'worker.js'), format: 'esm' });
  broken['a bundler finds nothing to complain of'] = complaints;
}

function signedWebhook(): TripPlan['webhook'] {
  const secret = `whsec_${Buffer.from(randomUUID()).toString('base64')}`;
  const id = 'evt_1';
  const at = new Date();
  const body = JSON.stringify({ id, type: 'transaction.approved', version: 1, data: {} });
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
  return { body, headers, secret };
}

await prepare();
const installation = await Installation.open();
await installation.prepare();
const gateway = await installation.startedGateway();
/** Each purchase loses the answer to its first request: the first of a trip breaks, the second is kept waiting. */
const known = new Set<string>();
const losing = await MeddlingProxy.open({
  gateway: () => gateway.baseUrl,
  fateOf: ({ method, correlationId }) => {
    if (method !== 'POST' || known.has(correlationId)) return PASS;
    known.add(correlationId);
    return { kind: known.size % 2 === 1 ? 'lose_answer' : 'swallow_answer' };
  },
});

const tried: string[] = [];
const skipped: string[] = [];
for (const [name, [command, way, otherwise]] of Object.entries(RUNTIMES)) {
  const expected: TripReport = { ...EXPECTED, ...otherwise };
  const steps = Object.keys(expected);
  const version = await run(command, ['--version'], { env }).then(
    ({ stdout }) => stdout.split('\n')[0]?.trim(),
    () => undefined,
  );
  if (version === undefined) {
    skipped.push(name);
    say(`${name}: skipped, ${command} is not there`);
    continue;
  }
  const said = await way({
    baseUrl: gateway.baseUrl,
    losing: losing.baseUrl,
    nowhere: `http://127.0.0.1:${await freePort()}/v1`,
    ...installation.credentials,
    merchant: installation.merchantId,
    reference: `trip-${tried.length}`,
    webhook: signedWebhook(),
  }).catch((error: Error) => JSON.stringify({ failed: error.message }));
  const report = JSON.parse(said.startsWith('{') ? said : JSON.stringify({ said })) as TripReport;
  const wrong = [...new Set([...steps, ...Object.keys(report)])].filter(
    (step) => report[step] !== expected[step],
  );
  broken[`${name} does as the others do`] = wrong.map(
    (step) => `${step}: ${report[step]}, and not ${expected[step]}`,
  );
  tried.push(`${name} (${version})`);
  say(`${name}, ${version}: ${steps.length - wrong.length} of ${steps.length} steps`);
}

await losing.close();
await installation.close();
const ended = verdict(broken, `${tried.length} runtimes: ${tried.join(', ')}; ${skipped.length} skipped`);
process.exit(ended);
