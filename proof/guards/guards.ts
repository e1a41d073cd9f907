// Each guard of the money is removed in turn, and a test must notice. The proof works in a copy of the project. A guard that can go
// without a failing test is not guarded itself.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { escaped, type Guard, type NamedTest, readGuards, withoutGuard } from './marks.js';
import { failuresOf, nameOf, type RanTest, ranAs, type Verdict, verdictOn } from './verdict.js';

const COPIED = [
  'README.md',
  'bin',
  'build',
  'client',
  'console',
  'dist',
  'docs',
  'migrations',
  'schema',
  'proof',
  'reference',
  'src',
  'test',
  'testkit',
  'libraries.config.js',
  'package.json',
  'rolldown.config.js',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** Must pass with any one guard removed: it tells a gateway without a guard from one that is broken altogether. */
const CONTROL: NamedTest = ['test/payments/ordinary-day.test.ts', 'an ordinary day'];

const values = programOptions({
  only: [''],
  // Only guards of files that this branch has changed since it left the one that is named.
  'changed-since': undefined,
  // So many at the same time, each in a copy of its own.
  lanes: 1,
  sample: undefined,
  seed: newSeed(),
  // For a test run that runs every test untouched itself.
  'trust-untouched': false,
  verbose: false,
});

/** A copy of the project, and a PostgreSQL for all the runs in it, so that each need not start its own. */
interface Lane {
  readonly copy: string;
  readonly server: Server;
}

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

async function openServer(copy: string): Promise<Server> {
  if (process.env.DATABASE_URL) return { url: process.env.DATABASE_URL, stop: async () => {} };
  const dataDir = join(copy, 'server');
  await mkdir(dataDir);
  return openEmbeddedPostgres({ dataDir });
}

const running = new Set<ChildProcess>();
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    for (const child of running) child.kill(signal);
  });
}

function run(
  copy: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  // The surrounding test run, if there is one, is none of its business.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|TOLLGATE_|NODE_ENV$|NODE_OPTIONS$|DATABASE_URL$)/.test(name),
  );
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: copy,
      env: { ...Object.fromEntries(inherited), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', () => {
      running.delete(child);
      resolve(output);
    });
  });
}

/** What of vitest's own report is read. */
interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Runs the tests that are named, and returns what became of each test that was run. */
async function runTests(
  { copy, server }: Lane,
  tests: readonly NamedTest[],
  flags: readonly string[] = [],
): Promise<{ ran: RanTest[]; output: string }> {
  const report = join(copy, 'report.json');
  await rm(report, { force: true });
  const files = [...new Set(tests.map(([file]) => file))];
  const names = [...new Set(tests.map(([, name]) => escaped(name)))].join('|');
  const output = await run(
    copy,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', ...files, '-t', names, ...flags],
      ...['--reporter=json', `--outputFile=${report}`, '--no-cache'],
      // Hardly any module differs from one run to the next.
      ...['--experimental.fsModuleCache', `--experimental.fsModuleCachePath=${join(copy, 'modules')}`],
    ],
    { DATABASE_URL: server.url },
  );
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) return { ran: [], output };
  const { testResults } = JSON.parse(text) as VitestReport;
  const ran = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status, failureMessages }) => ({
        file: name.slice(copy.length + 1).replaceAll('\\', '/'),
        name: fullName,
        failed: status === 'failed',
        message: failureMessages[0] ?? '',
      })),
  );
  return { ran, output };
}

/** As `npm run build` does it, but for the documents: they are there. */
async function build(copy: string): Promise<void> {
  await run(copy, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck']);
  await run(copy, ['node_modules/rolldown/bin/cli.mjs', '--config']);
}

/** Two small files are sooner done in one process. Who misses a guard may wait in vain: half the usual patience. */
const QUICKLY = ['--no-isolate', '--no-file-parallelism', '--testTimeout=30000'];

/** The tests that cannot be relied on: untouched they fail, or do not run. What they say of a guard that is gone proves nothing. */
async function unsoundTests(lane: Lane, guards: readonly Guard[]): Promise<Set<string>> {
  if (guards.some(({ processes }) => processes)) await build(lane.copy);
  const tests = [CONTROL, ...guards.flatMap((guard) => guard.tests)];
  const first = failuresOf(tests, (await runTests(lane, tests)).ran);
  const unsound = new Set<string>();
  // Some are patient, but not with hundreds of others at once: these are run again, by themselves.
  for (const [name, { test }] of first) {
    const { ran, output } = await runTests(lane, [test]);
    for (const { words } of interrupted ? [] : failuresOf([test], ran).values()) {
      unsound.add(name);
      say(`untouched: ${name} ${words}${values.verbose ? `\n${output}` : ''}`);
    }
  }
  return unsound;
}

async function triedWithout(
  lane: Lane,
  guard: Guard,
): Promise<Verdict | { readonly kind: 'wrecked'; readonly message: string }> {
  const { copy } = lane;
  const changed = withoutGuard(guard);
  try {
    for (const [file, text] of changed) await writeFile(join(copy, file), text);
    if (guard.processes) await build(copy);
    const { ran, output } = await runTests(lane, [CONTROL, ...guard.tests], QUICKLY);
    if (values.verbose) for (const { name, message } of ran) say(`  ${name}\n    ${message.slice(0, 1_500)}`);
    // What cannot even do its ordinary work is not a gateway without a guard, but a wreck.
    const [control] = ranAs(CONTROL, ran);
    if (control === undefined || control.failed)
      return { kind: 'wrecked', message: control?.message ?? output };
    return verdictOn(guard, ran);
  } finally {
    for (const file of changed.keys()) await copyFile(join(PROJECT_ROOT, file), join(copy, file));
    if (guard.processes) await build(copy);
  }
}

function inWords(verdict: Awaited<ReturnType<typeof triedWithout>>): string {
  switch (verdict.kind) {
    case 'caught':
      return `caught by ${verdict.by.name}`;
    case 'not caught':
      return 'NOT CAUGHT';
    case 'not run':
      return `NOT CAUGHT: did not run: ${verdict.tests.map(nameOf).join('; ')}`;
    case 'wrecked':
      return `NOT CAUGHT: the replacement breaks everything: ${verdict.message}`;
  }
}

async function filesChangedSince(commit: string): Promise<Set<string>> {
  const { stdout } = await promisify(execFile)('git', ['diff', '--name-only', `${commit}...HEAD`], {
    cwd: PROJECT_ROOT,
  });
  return new Set(stdout.split('\n'));
}

const began = performance.now();
const changed = values['changed-since'] && (await filesChangedSince(values['changed-since']));
const { guards: all, wrong } = readGuards();
const chosen = all.filter(
  (guard) =>
    values.only.some((part) => guard.name.includes(part)) &&
    (!changed || guard.marks.some(({ file }) => changed.has(file))),
);
const quick = chosen.filter(({ slow }) => !slow);
const guards =
  values.sample === undefined
    ? chosen
    : new Chance(values.seed).shuffled(quick).slice(0, Number(values.sample));
for (const one of wrong) say(`STALE: ${one}`);
const stale = wrong.length;
if (values.sample !== undefined) say(`${guards.length} of ${quick.length} quick guards, seed ${values.seed}`);

let caught = 0;
let notCaught = 0;
let unsound = 0;
const lanes: Lane[] = [];
try {
  lanes.push(await openLane());
  const trusted = stale > 0 || values['trust-untouched'];
  const unreliable = trusted ? new Set<string>() : await unsoundTests(lanes[0] as Lane, guards);
  unsound = unreliable.size;
  const left = guards.filter(
    ({ tests }) => ![CONTROL, ...tests].some((test) => unreliable.has(nameOf(test))),
  );
  if (stale > 0) left.length = 0;
  while (lanes.length < Math.min(values.lanes, left.length)) lanes.push(await openLane());
  await Promise.all(lanes.map((lane) => tryAll(lane, left)));
} finally {
  for (const { copy, server } of lanes) {
    await server.stop();
    await rm(copy, { recursive: true, force: true });
  }
}
const seconds = Math.round((performance.now() - began) / 1_000);
say(
  `${guards.length} guards: ${caught} caught, ${notCaught} not caught, ${stale} stale, ${unsound} tests unsound untouched; ${seconds} s`,
);
if (caught !== guards.length || guards.length === 0) process.exitCode = 1;

/** Lanes take from the same list until it is empty. */
async function tryAll(lane: Lane, left: Guard[]): Promise<void> {
  for (let guard = left.shift(); guard !== undefined; guard = left.shift()) {
    const at = performance.now();
    const verdict = await triedWithout(lane, guard);
    if (interrupted) break;
    if (values.verbose) say(`  ${Math.round((performance.now() - at) / 1_000)} s`);
    if (verdict.kind === 'caught') caught += 1;
    else notCaught += 1;
    say(`removed: ${guard.name} → ${inWords(verdict)}`);
  }
}

async function openLane(): Promise<Lane> {
  const copy = await copyProject();
  return { copy, server: await openServer(copy) };
}

/** Returns where it is. Its libraries are those of the project. */
async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'tollgate-guards-'));
  for (const name of COPIED) await cp(join(PROJECT_ROOT, name), join(copy, name), { recursive: true });
  await cp(join(PROJECT_ROOT, 'vitest.config.ts'), join(copy, 'vitest.config.ts'));
  await symlink(join(PROJECT_ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction');
  return copy;
}
