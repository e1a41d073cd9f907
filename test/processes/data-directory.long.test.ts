// The life of one data directory: gateways that come and go, with its PostgreSQL and its demo. Each test continues where the
// previous one stopped, since every new PostgreSQL takes seconds.
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { CARD, client, type Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import {
  dataDirectory,
  type Ended,
  eventually,
  freePort,
  type GatewayProcess,
  postgresPid,
  type RunningProcess,
  run,
  start,
  startGatewayProcess,
} from '../../testkit/gateway-process.js';
import { SLOW_CARD } from '../../testkit/test-cards.js';

let dataDir: string;
let environment: { TOLLGATE_DATA_DIR: string; TOLLGATE_PORT: string };
let gateway: GatewayProcess;
let neighbour: GatewayProcess;
let demo: { base_url: string; console_url: string; username: string; password: string; merchants: number[] };
/** The audits of all purchases. */
const paid: number[] = [];
/** Of every process that ran here. */
const outputs: (() => string)[] = [];

beforeAll(async () => {
  // A path that shells, JSON and PostgreSQL might stumble over.
  dataDir = await dataDirectory(`tollgate's "data" $HOME-`);
  environment = { TOLLGATE_DATA_DIR: dataDir, TOLLGATE_PORT: String(await freePort()) };
});

async function serve(port = environment.TOLLGATE_PORT): Promise<GatewayProcess> {
  const started = await startGatewayProcess({ ...environment, TOLLGATE_PORT: port });
  outputs.push(started.output);
  return started;
}

/** In this process; other tests show that a command may come first in a process of its own. */
const command = (...args: string[]) => printed(runHere([...args, '--json'], environment));
const inAProcess = (...args: string[]) => printed(run([...args, '--json'], environment));

async function printed(ending: Promise<Ended>): Promise<Json> {
  const { code, stdout, stderr } = await ending;
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

async function readDemo(): Promise<typeof demo> {
  return JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
}

async function pay({ baseUrl }: GatewayProcess, merchant = 1): Promise<void> {
  const { status, body } = await client(baseUrl, demo).purchase({ merchant });
  expect([status, body.status?.transaction_status_code]).toEqual([201, 'approved']);
  paid.push(body.audit);
}

async function expectNothingLost({ baseUrl }: GatewayProcess): Promise<void> {
  const api = client(baseUrl, demo);
  const found = await Promise.all(paid.map((audit) => api.lookUp(audit)));
  expect(found.map(({ body }) => body.status?.transaction_status_code)).toEqual(paid.map(() => 'approved'));
}

async function expectPostgresGone(pid: number | undefined): Promise<void> {
  expect(await postgresPid(dataDir)).toBeUndefined();
  // A zombie still has its pid, but no command line.
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  expect(commandLine).not.toContain('postgres');
}

/** Each start makes a new one. */
function anotherLink() {
  return expect.not.stringContaining(demo.console_url);
}

test('serve, two at once in an empty data directory → one PostgreSQL, one demo that can pay for merchants 1, 2 and 3', async () => {
  [gateway, neighbour] = await Promise.all([serve(), serve('0')]);
  demo = await readDemo();
  expect(demo).toEqual({
    base_url: expect.any(String),
    console_url: expect.stringMatching(/^http:\/\/localhost:\d+\/sign-in#demo:[\w-]{32}$/),
    username: 'demo',
    password: expect.stringMatching(/^[\w-]{22,}$/),
    merchants: [1, 2, 3],
  });
  expect([gateway.baseUrl, neighbour.baseUrl]).toContain(demo.base_url);
  expect((await stat(join(dataDir, 'demo.json'))).mode & 0o777).toBe(0o600);
  expect((await readdir(dataDir)).filter((name) => name.startsWith('demo'))).toEqual(['demo.json']);
  for (const merchant of demo.merchants) {
    await pay(gateway, merchant);
    await pay(neighbour, merchant);
  }
  await expectNothingLost(gateway);
  await expectNothingLost(neighbour);
});

test('serve, with a demo → prints a purchase that can be pasted into a shell', async () => {
  const printed = /A first purchase:\n\n(curl .*?)\n\n/s.exec(gateway.output())?.[1] ?? '';
  // A curl that shows what the shell made of it.
  const folder = join(await dataDirectory(), 'bin');
  await mkdir(folder);
  await writeFile(join(folder, 'curl'), '#!/bin/sh\nprintf "%s\\n" "$@"\n');
  await chmod(join(folder, 'curl'), 0o755);
  const PATH = [folder, process.env.PATH].join(delimiter);
  const pasted = await start(['-c', printed], { PATH }, { command: 'sh' }).ended;
  expect(pasted.stderr).toBe('');
  const [, url, , credentials, , correlation = '', , type, , body = ''] = pasted.stdout.split('\n');
  expect(url).toBe(`${gateway.baseUrl}/transactions/purchase`);
  expect(credentials).toBe(`demo:${demo.password}`);
  expect(type).toBe('Content-Type: application/json');
  const api = client(gateway.baseUrl, demo);
  const answer = await api.post('/transactions/purchase', JSON.parse(body), correlation.split(': ')[1]);
  expect(answer.body.status.transaction_status_code).toBe('approved');
  paid.push(answer.body.audit);
});

test('user rotate demo → demo.json has the new secret, which works; the demo.json of another database is left alone', async () => {
  const before = await readDemo();
  const { password } = await command('user', 'rotate', 'demo');
  demo = await readDemo();
  expect(demo).toEqual({ ...before, password });
  expect(password).not.toBe(before.password);
  expect((await stat(join(dataDir, 'demo.json'))).mode & 0o777).toBe(0o600);
  await pay(gateway);

  const foreign = { ...demo, password: 'of another database' };
  await writeFile(join(dataDir, 'demo.json'), JSON.stringify(foreign));
  const { stdout } = await runHere(['user', 'rotate', 'demo'], environment);
  expect(await readDemo()).toEqual(foreign);
  const [, secret = ''] = /is shown only now: (\S+)\n$/.exec(stdout) ?? [];
  demo = { ...demo, password: secret };
  await writeFile(join(dataDir, 'demo.json'), JSON.stringify(demo));
  await pay(gateway);
});

test('SIGUSR1 → no debugger opens, the gateway goes on, and the log says so', async () => {
  gateway.kill('SIGUSR1');
  await eventually(
    async () => gateway.output().includes('"SIGUSR1 ignored; no debugger is opened"') || undefined,
  );
  expect(gateway.output()).not.toContain('Debugger listening');
  await pay(gateway);
});

test('serve, on a port in use → one line, exit code 1, and the gateway on that port is not disturbed', async () => {
  const before = await postgresPid(dataDir);
  const { code, stdout, stderr } = await run(['serve'], environment);
  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^tollgate: port \d+ on 127\.0\.0\.1 is taken .*TOLLGATE_PORT.*\n$/);
  expect(await postgresPid(dataDir)).toBe(before);
  await pay(gateway);
  await expectNothingLost(gateway);
});

test('a command while the gateway runs → uses its PostgreSQL, and a new user can pay at once', async () => {
  expect(await command('organisation', 'list')).toMatchObject([{ id: 1, name: 'Demo' }]);
  const added = await command('user', 'add', 'cashier', '--merchant', '3');
  expect((await client(gateway.baseUrl, added).purchase({ merchant: 3 })).status).toBe(201);
  expect((await client(gateway.baseUrl, added).purchase({ merchant: 1 })).code).toBe(
    'merchant_not_permitted',
  );
});

test('SIGTERM to one of two gateways → it exits with 0, and the other one goes on with the PostgreSQL', async () => {
  const before = await postgresPid(dataDir);
  expect((await gateway.stop()).code).toBe(0);
  expect(await postgresPid(dataDir)).toBe(before);
  await pay(neighbour);
  await expectNothingLost(neighbour);
});

test('kill -9 → PostgreSQL keeps running, the next start adopts it, and nothing is lost', async () => {
  const before = await postgresPid(dataDir);
  await neighbour.crash();
  expect(await postgresPid(dataDir)).toBe(before);
  gateway = await serve();
  expect(await postgresPid(dataDir)).toBe(before);
  expect(await readDemo()).toEqual({ ...demo, base_url: gateway.baseUrl, console_url: anotherLink() });
  await pay(gateway);
  await expectNothingLost(gateway);
});

test('SIGTERM while a payment is in flight → nothing new is accepted, the payment gets its 201, and the adopted PostgreSQL is stopped', async () => {
  const before = await postgresPid(dataDir);
  const api = client(gateway.baseUrl, demo);
  const correlationId = randomUUID();
  const answering = api.purchase({ pan: SLOW_CARD, correlationId });
  await eventually(async () => (await api.search(correlationId)).body.results[0]);
  gateway.kill('SIGTERM');
  await eventually(() =>
    fetch(`${gateway.origin}/readyz`).then(({ status }) => status === 503 || undefined, refused),
  );
  await expect(api.purchase().then(({ status, code }) => `${status} ${code}`, refused)).resolves.toBeOneOf([
    '503 not_processed',
    true,
  ]);
  const answer = await answering;
  expect([answer.status, answer.body.status.transaction_status_code]).toEqual([201, 'approved']);
  paid.push(answer.body.audit);
  expect((await gateway.ended).code).toBe(0);
  await expectPostgresGone(before);
});

/** The server refuses connections, or has just closed this one. */
function refused(): true {
  return true;
}

test('commands while no gateway runs, several at once → all succeed, and no PostgreSQL is left running', async () => {
  const [organisations, users, merchant] = await Promise.all([
    inAProcess('organisation', 'list'),
    inAProcess('user', 'list'),
    inAProcess('merchant', 'add', 'Fourth', '--organisation', '1'),
    inAProcess('clock', 'show'),
  ]);
  expect(organisations).toHaveLength(1);
  expect(users.map((user: { username: string }) => user.username)).toEqual(['cashier', 'demo']);
  expect(merchant.id).toBe(4);
  expect(await postgresPid(dataDir)).toBeUndefined();
});

test('SIGTERM while the gateway starts → it exits with 0, and no PostgreSQL is left running', async () => {
  const starting: RunningProcess = start(['serve'], environment);
  outputs.push(starting.output);
  const pid = await eventually(() => postgresPid(dataDir));
  starting.kill('SIGTERM');
  expect((await starting.ended).code).toBe(0);
  await expectPostgresGone(pid);
});

test('serve, an invalid secret in demo.json → a line says so, and no purchase is printed', async () => {
  const valid = await readFile(join(dataDir, 'demo.json'), 'utf8');
  await writeFile(join(dataDir, 'demo.json'), JSON.stringify({ ...demo, password: 'of long ago' }));
  const stale = await serve();
  expect(stale.output()).not.toContain('A first purchase');
  expect((await stale.stop()).code).toBe(0);
  expect(stale.output()).toContain('"the secret in demo.json is no longer valid"');
  await writeFile(join(dataDir, 'demo.json'), valid);
});

test('serve, a second time → no second demo, the same secret, the earlier transactions; Ctrl-C twice at once (npm repeats it) → an orderly end', async () => {
  gateway = await serve();
  const pid = await postgresPid(dataDir);
  expect(await readDemo()).toEqual({ ...demo, base_url: gateway.baseUrl, console_url: anotherLink() });
  await pay(gateway);
  await expectNothingLost(gateway);
  expect(await command('organisation', 'list')).toHaveLength(1);
  gateway.kill('SIGINT');
  gateway.kill('SIGINT');
  expect((await gateway.ended).code).toBe(0);
  await expectPostgresGone(pid);
});

test('no output, log or file except demo.json holds the demo’s password or a card number', async () => {
  const names = ['postgres.log', 'simulator-ledger.ndjson'];
  const files = await Promise.all(names.map((name) => readFile(join(dataDir, name), 'utf8')));
  const written = [...outputs.map((output) => output()), ...files];
  expect(written.join('')).toContain('"msg":"request"');
  for (const text of written) {
    expect(text).not.toContain(demo.password);
    // The purchase to paste has the one card that is not a customer's.
    expect(text.replaceAll(/^ {2}-d '.*'$/gm, '')).not.toContain(CARD);
    expect(text).not.toContain(SLOW_CARD);
  }
});
