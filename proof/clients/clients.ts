// Clients generated from the OpenAPI document in three languages drive the gateway, and two linters read the document. Tools are
// installed into a temporary folder. The proof skips and names a client whose tools cannot be installed.
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Json } from '../../testkit/bodies.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { install, Missing, needed, run } from '../arena/tools.js';

const TYPESCRIPT = [
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  'typescript@5.9.3',
  '@types/node@20.19.43',
] as const;
const PYTHON = 'openapi-python-client==0.29.1';
const JAVA = 'org.openapitools:openapi-generator-cli:7.25.0';
const REDOCLY = '@redocly/cli@2.73.0';
const SPECTRAL = '@stoplight/spectral-cli@6.16.3';
const LATER_VALUE = 'later_value';
/** Texts to which new values may come; `type` and `CARD.TYPE` are card schemes. */
const OPEN_VALUES = [
  'transaction_status_code',
  'transaction_type',
  'directdebit_mode',
  'type',
  'CARD.TYPE',
  'error_code',
];
const OURS = join(PROJECT_ROOT, 'proof', 'clients');

const values = programOptions({
  only: undefined,
  // Kept afterwards, so that the next run need not fetch them again.
  tools: undefined,
});

const CLIENTS: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  typescript,
  python,
  java,
  redocly,
  spectral,
};
const chosen = values.only?.split(',') ?? Object.keys(CLIENTS);
const strange = chosen.filter((name) => !(name in CLIENTS));
if (strange.length > 0) throw new Error(`--only takes ${Object.keys(CLIENTS).join(', ')}, not ${strange}`);

const tools = values.tools ?? (await mkdtemp(join(tmpdir(), 'tollgate-clients-')));
const installation = await Installation.open();
await installation.prepare();
const gateway = await installation.startedGateway();
const later = await startLaterGateway(gateway.baseUrl);
const [username = '', password = ''] = atob(installation.authorization.slice('Basic '.length)).split(':');
const drive = [username, password, `${installation.merchantId}`, gateway.baseUrl, later.baseUrl];
const document = await (await fetch(`${gateway.baseUrl}/openapi.json`)).text();

type Outcome = 'ran' | 'skipped' | 'failed';
const tally: Record<Outcome, string[]> = { ran: [], skipped: [], failed: [] };
for (const [name, drives] of Object.entries(CLIENTS)) {
  if (!chosen.includes(name)) continue;
  const folder = join(tools, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'openapi.json'), document);
  const startedMs = performance.now();
  const [outcome, what] = await drives(folder).then(
    (done): [Outcome, string] => ['ran', done],
    (error): [Outcome, string] => [error instanceof Missing ? 'skipped' : 'failed', error.message],
  );
  tally[outcome].push(name);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  say(`${name}: ${outcome} in ${seconds} s: ${what}`);
}

later.close();
await installation.close();
if (values.tools === undefined) await rm(tools, { recursive: true, force: true });
const sum = (names: readonly string[]) =>
  names.length === 0 ? '0' : `${names.length} (${names.join(', ')})`;
say(`clients: ${sum(tally.ran)} ran, ${sum(tally.skipped)} skipped, ${sum(tally.failed)} failed`);
process.exit(tally.failed.length === 0 ? 0 : 1);

async function typescript(folder: string): Promise<string> {
  await packages(folder, TYPESCRIPT);
  const program = (name: string) => join(folder, 'node_modules', '.bin', name);
  await run(program('openapi-typescript'), ['openapi.json', '-o', 'tollgate.ts'], { cwd: folder });
  await copyFile(join(OURS, 'drivers', 'drive.ts'), join(folder, 'drive.ts'));
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck'];
  const modules = ['--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
  await run(program('tsc'), [...strict, ...modules, 'drive.ts'], { cwd: folder });
  await run(process.execPath, ['drive.js', ...drive], { cwd: folder });
  return `${TYPESCRIPT[0]} with ${TYPESCRIPT[1]}: compiled, and traded`;
}

async function python(folder: string): Promise<string> {
  await needed('python3', '-m', 'venv', '--help');
  await install('a virtual environment', 'python3', ['-m', 'venv', folder]);
  const programs = join(folder, 'bin');
  await install(PYTHON, join(programs, 'pip'), ['install', '--quiet', PYTHON]);
  const generate = ['generate', '--path', 'openapi.json', '--output-path', 'tollgate_client', '--overwrite'];
  // A warning means that something of the document was left out.
  await run(join(programs, 'openapi-python-client'), [...generate, '--meta', 'none', '--fail-on-warning'], {
    cwd: folder,
    path: programs,
  });
  await copyFile(join(OURS, 'drivers', 'drive.py'), join(folder, 'drive.py'));
  await run(join(programs, 'python'), ['drive.py', ...drive], { cwd: folder });
  return `${PYTHON}: generated without a warning, and traded`;
}

async function java(folder: string): Promise<string> {
  await needed('java', '-version');
  await needed('javac', '-version');
  await needed('mvn', '-version');
  const maven = (...args: string[]) => install(JAVA, 'mvn', ['-q', '-B', ...args], { cwd: folder });
  await maven(
    'dependency:copy',
    `-Dartifact=${JAVA}`,
    `-DoutputDirectory=${folder}`,
    '-Dmdep.stripVersion=true',
  );
  const generated = join(folder, 'generated');
  await rm(generated, { recursive: true, force: true });
  const generator = ['-jar', 'openapi-generator-cli.jar', 'generate', '-g', 'java', '-i', 'openapi.json'];
  await run('java', [...generator, '-o', generated], { cwd: folder });
  await maven(
    '-f',
    generated,
    'dependency:build-classpath',
    `-Dmdep.outputFile=${join(folder, 'classpath')}`,
  );
  const libraries = (await readFile(join(folder, 'classpath'), 'utf8')).trim();
  const sources = (await readdir(join(generated, 'src', 'main', 'java'), { recursive: true }))
    .filter((name) => name.endsWith('.java'))
    .map((name) => join(generated, 'src', 'main', 'java', name));
  const classes = join(folder, 'classes');
  await run('javac', [
    '-nowarn',
    '-cp',
    libraries,
    '-d',
    classes,
    ...sources,
    join(OURS, 'drivers', 'Drive.java'),
  ]);
  await run('java', ['-cp', [classes, libraries].join(delimiter), 'Drive', ...drive]);
  return `${JAVA} (okhttp-gson, as it comes): compiled, and traded`;
}

async function redocly(folder: string): Promise<string> {
  await packages(folder, [REDOCLY]);
  const lint = join(folder, 'node_modules', '.bin', 'redocly');
  const said = await run(lint, ['lint', 'openapi.json', '--extends', 'recommended', '--format', 'json'], {
    cwd: folder,
  });
  const { totals } = JSON.parse(said.slice(said.indexOf('{\n'), said.lastIndexOf('}') + 1));
  if (totals.errors + totals.warnings > 0) throw new Error(said);
  return `${REDOCLY}: no error and no warning, with the recommended rules`;
}

async function spectral(folder: string): Promise<string> {
  await packages(folder, [SPECTRAL]);
  const rules = ['--ruleset', join(OURS, 'spectral.yaml'), '--fail-severity', 'hint'];
  await run(join(folder, 'node_modules', '.bin', 'spectral'), ['lint', 'openapi.json', ...rules], {
    cwd: folder,
  });
  return `${SPECTRAL}: no error and no warning, with all rules but info-contact`;
}

async function packages(folder: string, names: readonly [string, ...string[]]): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }');
  await install(names[0], 'npm', ['install', '--no-audit', '--no-fund', '--save-exact', ...names], {
    cwd: folder,
  });
}

/**
 * A gateway of later days, as the versioning rules allow it: a relay that adds members to the answers of the gateway at `baseUrl` and
 * replaces values.
 */
async function startLaterGateway(baseUrl: string): Promise<{ baseUrl: string; close: () => void }> {
  const { origin, pathname } = new URL(baseUrl);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const {
      connection,
      host,
      'content-length': length,
      'transfer-encoding': coding,
      ...headers
    } = request.headers;
    const answer = await fetch(origin + request.url, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const text = await answer.text();
    response.writeHead(answer.status, {
      'content-type': 'application/json; charset=utf-8',
      'x-correlation-id': answer.headers.get('x-correlation-id') ?? '',
      'x-later': 'yes',
    });
    response.end(text === '' ? undefined : JSON.stringify(ofLaterDays(JSON.parse(text))));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    close: () => void server.close(),
  };
}

function ofLaterDays(value: Json, name = ''): Json {
  if (Array.isArray(value)) return value.map((each) => ofLaterDays(each));
  if (name === 'kvps') return { ...value, 'GATEWAY.RESPONSE.KVP.LATER': 'yes' };
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => [key, ofLaterDays(member, key)]);
    return { later_member: { list: [1, null, 'two'] }, ...Object.fromEntries(members) };
  }
  if (name === 'gateway_status_code') return 77;
  return OPEN_VALUES.includes(name) ? LATER_VALUE : value;
}
