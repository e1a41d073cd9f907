// Each guard of the money is removed in turn, and a test must notice. The proof works in a copy of the project. A guard that can go
// without a failing test is not guarded itself.
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { escaped, type Guard, type NamedTest, readGuards, withoutGuard } from './marks.js';
import type { RunRequest } from './test-runner.js';
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
  runner: Runner | undefined;
  /** Files that are as they were again, which the runner does not know yet. */
  changed: readonly string[];
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

/** The surrounding test run, if there is one, is none of its business. */
function environment(): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|TOLLGATE_|NODE_ENV$|NODE_OPTIONS$|DATABASE_URL$)/.test(name),
  );
  return Object.fromEntries(inherited);
}

function run(copy: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: copy, env: environment(), stdio: 'ignore' });
    running.add(child);
    child.on('error', reject);
    child.on('close', () => {
      running.delete(child);
      resolve();
    });
  });
}

/** Runs the tests that are named, and returns what became of each test that was run. */
async function runTests(
  lane: Lane,
  tests: readonly NamedTest[],
  { changed = [], timeoutMs = 600_000 }: Partial<Pick<RunRequest, 'changed' | 'timeoutMs'>> = {},
): Promise<readonly RanTest[]> {
  const files = [...new Set(tests.map(([file]) => file))];
  const names = [...new Set(tests.map(([, name]) => escaped(name)))].join('|');
  lane.runner ??= await openRunner(lane);
  const ran = await lane.runner.run({ files, names, changed, timeoutMs });
  if (ran === undefined) lane.runner = undefined;
  return ran ?? [];
}

/** A process that runs tests of a copy, and has what it needs for them ready. */
interface Runner {
  /** Undefined if the process has ended. */
  run(request: RunRequest): Promise<readonly RanTest[] | undefined>;
  close(): Promise<void>;
}

async function openRunner({ copy, server }: Pick<Lane, 'copy' | 'server'>): Promise<Runner> {
  const child = fork(join(copy, 'build', 'proof', 'guards', 'test-runner.js'), {
    cwd: copy,
    env: { ...environment(), DATABASE_URL: server.url },
    stdio: ['ignore', 'ignore', values.verbose ? 'inherit' : 'ignore', 'ipc'],
  });
  running.add(child);
  const closed = once(child, 'exit').then(() => {
    running.delete(child);
    return undefined;
  });
  const answer = () => Promise.race([once(child, 'message').then(([message]) => message), closed]);
  if ((await answer()) === undefined) throw new Error('the tests cannot be run');
  return {
    run: (request) => {
      child.send(request);
      return answer();
    },
    close: async () => {
      if (child.connected) child.disconnect();
      await closed;
    },
  };
}

async function closeRunner(lane: Lane): Promise<void> {
  await lane.runner?.close();
  lane.runner = undefined;
}

/** As `npm run build` does it, but for the documents: they are there. */
async function build(copy: string): Promise<void> {
  await run(copy, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck']);
  await run(copy, ['node_modules/rolldown/bin/cli.mjs', '--config']);
}

/** Who misses a guard may wait in vain. */
const SHORT_TIMEOUT_MS = 30_000;

/** The tests that cannot be relied on: untouched they fail, or do not run. What they say of a guard that is gone proves nothing. */
async function unsoundTests(lane: Lane, guards: readonly Guard[]): Promise<Set<string>> {
  if (guards.some(({ processes }) => processes)) await build(lane.copy);
  const tests = [CONTROL, ...guards.flatMap((guard) => guard.tests)];
  const first = failuresOf(tests, await runTests(lane, tests));
  const unsound = new Set<string>();
  // Some are patient, but not with hundreds of others at once: these are run again, by themselves.
  for (const [name, { test }] of first) {
    const again = failuresOf([test], await runTests(lane, [test]));
    for (const { words } of interrupted ? [] : again.values()) {
      unsound.add(name);
      say(`untouched: ${name} ${words}`);
    }
  }
  return unsound;
}

type Tried = Verdict | { readonly kind: 'wrecked'; readonly message: string };

async function triedWithout(lane: Lane, guard: Guard): Promise<Tried> {
  const { copy } = lane;
  const changed = withoutGuard(guard);
  const files = [...changed.keys()];
  // A runner has made its databases already.
  const isOfDatabase = files.some((file) => !file.startsWith('src/'));
  try {
    for (const [file, text] of changed) await writeFile(join(copy, file), text);
    if (guard.processes) await build(copy);
    if (isOfDatabase) await closeRunner(lane);
    const tried = await tryOnce(lane, guard, files);
    if (tried.kind === 'caught' || isOfDatabase || interrupted) return tried;
    await closeRunner(lane);
    return await tryOnce(lane, guard, files);
  } finally {
    for (const file of files) await copyFile(join(PROJECT_ROOT, file), join(copy, file));
    if (guard.processes) await build(copy);
    if (isOfDatabase) await closeRunner(lane);
    lane.changed = files;
  }
}

async function tryOnce(lane: Lane, guard: Guard, files: readonly string[]): Promise<Tried> {
  const changed = [...files, ...lane.changed];
  const ran = await runTests(lane, [CONTROL, ...guard.tests], { changed, timeoutMs: SHORT_TIMEOUT_MS });
  if (values.verbose) for (const { name, message } of ran) say(`  ${name}\n    ${message.slice(0, 1_500)}`);
  // What cannot even do its ordinary work is not a gateway without a guard, but a wreck.
  const [control] = ranAs(CONTROL, ran);
  if (control === undefined || control.failed)
    return { kind: 'wrecked', message: control?.message ?? 'no test was run' };
  return verdictOn(guard, ran);
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
  for (const lane of lanes) {
    const { copy, server } = lane;
    await closeRunner(lane);
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
  return { copy, server: await openServer(copy), runner: undefined, changed: [] };
}

/** Returns where it is. Its libraries are those of the project. */
async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'tollgate-guards-'));
  for (const name of COPIED) await cp(join(PROJECT_ROOT, name), join(copy, name), { recursive: true });
  await cp(join(PROJECT_ROOT, 'vitest.config.ts'), join(copy, 'vitest.config.ts'));
  await symlink(join(PROJECT_ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction');
  return copy;
}
