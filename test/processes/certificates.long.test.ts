// The certificate of a running gateway is replaced, correctly and incorrectly: clients notice nothing but the new one.
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { basicAuthorization, type Json, paymentBody } from '../../testkit/bodies.js';
import { daysFromNow, makeCertificate, type TestCertificate } from '../../testkit/certificates.js';
import { type Installation, type InstalledGateway, installation } from '../../testkit/cloned-installation.js';
import { dataDirectory, eventually } from '../../testkit/gateway-process.js';
import { type HttpAnswer, httpsCaller } from '../../testkit/http-call.js';

const authority = makeCertificate({ name: 'authority' });
const issue = (until?: Date) => makeCertificate({ issuer: authority, ...(until && { until }) });

let shared: Installation;
beforeAll(async () => {
  shared = await installation();
});

interface Files {
  readonly certificate: string;
  readonly key: string;
}

/** In place, as an editor or a careless script does. */
async function write(files: Files, { certificate, key }: Pick<TestCertificate, 'certificate' | 'key'>) {
  await writeFile(files.certificate, certificate);
  await writeFile(files.key, key, { mode: 0o600 });
}

/** As most renewal programs do: each file atomically, one after the other. */
async function replace(files: Files, { certificate, key }: TestCertificate) {
  await write({ certificate: `${files.certificate}.new`, key: `${files.key}.new` }, { certificate, key });
  await rename(`${files.certificate}.new`, files.certificate);
  // The point is the moment in between, when the files do not match.
  await sleep(20);
  await rename(`${files.key}.new`, files.key);
}

async function filesWith(first: TestCertificate): Promise<Files> {
  const folder = await dataDirectory();
  const files = { certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  await write(files, first);
  return files;
}

const settingsOf = (files: Files) => ({
  TLS_CERTIFICATE_FILE: files.certificate,
  TLS_KEY_FILE: files.key,
});

const linesOf = (gateway: InstalledGateway, msg: string): Json[] =>
  gateway
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.msg === msg);

const inUse = (gateway: InstalledGateway) =>
  linesOf(gateway, 'certificate in use').map(({ certificate }) => certificate);

type Ask = () => Promise<HttpAnswer>;

function purchaser(gateway: InstalledGateway, connectionPerRequest: boolean): Ask {
  const call = httpsCaller({ trusted: authority.certificate, connectionPerRequest });
  const headers = { authorization: basicAuthorization(shared.owner), 'content-type': 'application/json' };
  return () =>
    call(`${gateway.baseUrl}/transactions/purchase`, {
      method: 'POST',
      headers: { ...headers, 'x-correlation-id': crypto.randomUUID() },
      body: JSON.stringify(paymentBody()),
    });
}

/**
 * Waits until every worker uses this certificate for new connections. The kernel chooses the worker, so the others are stopped
 * while one is asked; and only once most use it, since a stopped worker serves nobody.
 */
async function shownEverywhere(gateway: InstalledGateway, { fingerprint }: TestCertificate): Promise<void> {
  const ask = purchaser(gateway, true);
  await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask().catch(() => undefined)));
    return answers.every((answer) => answer?.certificate === fingerprint) || undefined;
  });
  const call = httpsCaller({ trusted: authority.certificate, connectionPerRequest: true });
  const alive = new URL('/livez', gateway.baseUrl).href;
  const shown = async () => (await call(alive, { method: 'GET', headers: {} })).certificate;
  const workers = workersOf(gateway);
  for (const asked of workers) {
    const others = workers.filter((worker) => worker !== asked);
    for (const other of others) process.kill(other, 'SIGSTOP');
    try {
      await eventually(async () => others.every((pid) => /^State:\tT/m.test(statusOf(pid))) || undefined);
      await expect.poll(shown).toBe(fingerprint);
    } finally {
      for (const other of others) process.kill(other, 'SIGCONT');
    }
  }
}

describe('two workers', () => {
  const first = issue();
  let files: Files;
  let gateway: InstalledGateway;
  beforeAll(async () => {
    files = await filesWith(first);
    gateway = await shared.start({ ...settingsOf(files), WORKERS: '2' });
  });

  // catches(certificates: every worker gets the new one) processes
  test('certificates replaced under load → no request fails, no connection is dropped, and each worker shows the new one', async () => {
    let loaded = true;
    const answers: HttpAnswer[] = [];
    const failures: unknown[] = [];
    const load = async (ask: Ask) => {
      while (loaded)
        await ask().then(
          (answer) => answers.push(answer),
          (error) => failures.push(error),
        );
    };
    const kept = purchaser(gateway, false);
    const before = await kept();
    const loads = [purchaser(gateway, true), purchaser(gateway, true), purchaser(gateway, true), kept].map(
      load,
    );

    const second = issue();
    await replace(files, second);
    await shownEverywhere(gateway, second);

    // Half of it, then the rest; asked to look in between.
    const third = issue();
    await writeFile(files.certificate, third.certificate.slice(0, 400));
    gateway.kill('SIGHUP');
    await eventually(async () => linesOf(gateway, 'certificate not renewed: the one in use stays')[0]);
    await write(files, third);
    gateway.kill('SIGHUP');
    await shownEverywhere(gateway, third);

    loaded = false;
    await Promise.all(loads);
    const after = await kept();
    expect(failures).toEqual([]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    // Still the connection that it had before the first was replaced.
    expect([before.certificate, after.certificate]).toEqual([first.fingerprint, first.fingerprint]);
    // One process logs it for all.
    const said = [first, second, third].map(({ fingerprint }) => fingerprint);
    await expect.poll(() => inUse(gateway)).toEqual(said);
    await write(files, first);
    await shownEverywhere(gateway, first);
    // It is logged a moment after it is used.
    await expect.poll(() => inUse(gateway)).toEqual([...said, first.fingerprint]);
  });

  test('a key that does not match the certificate → logged once, the old pair is used, even by a worker started meanwhile', async () => {
    const notRenewed = () => linesOf(gateway, 'certificate not renewed: the one in use stays');
    const [saidBefore, usedBefore] = [notRenewed().length, inUse(gateway).length];
    const next = issue();
    await write(files, { ...next, key: first.key });
    await eventually(async () => notRenewed()[saidBefore]);
    const [worker] = workersOf(gateway);
    process.kill(worker as number, 'SIGKILL');
    await eventually(async () => linesOf(gateway, 'worker exited; a new one is started')[0]);
    await shownEverywhere(gateway, first);
    // Only time shows that it is not logged again.
    await sleep(2_500);
    expect(notRenewed().slice(saidBefore)).toMatchObject([
      { level: 'warn', reason: 'the key is not that of the certificate' },
    ]);
    expect(inUse(gateway)).toHaveLength(usedBefore);

    await write(files, next);
    await shownEverywhere(gateway, next);
    expect(notRenewed()).toHaveLength(saidBefore + 1);
  });

  // catches(certificates: one that is not in force does not take the place of one that is) processes
  test('an expired certificate → the old one is used', async () => {
    const said = () => linesOf(gateway, 'certificate not renewed: the one in use stays').at(-1)?.reason;
    const { certificate: used } = await purchaser(gateway, true)();
    await replace(files, issue(daysFromNow(-0.5)));
    await expect.poll(said).toBe('the certificate has expired, or is not valid yet');
    const { certificate } = await purchaser(gateway, true)();
    expect(certificate).toBe(used);
  });

  test('missing files → the old certificate is used, and a reload says so', async () => {
    const said = () =>
      linesOf(gateway, 'certificate not renewed: the one in use stays').filter(({ reason }) =>
        /tls\.crt\S* cannot be read \(ENOENT\)$/.test(reason),
      );
    await rename(files.certificate, `${files.certificate}.away`);
    gateway.kill('SIGHUP');
    await eventually(async () => said()[0]);
    gateway.kill('SIGHUP');
    await eventually(async () => said()[1]);
    expect((await purchaser(gateway, true)()).status).toBe(201);
  });
});

test('an expired certificate, and a key that everybody can read → reported at start; close to expiry → a warning; reloaded → what is in use', async () => {
  const ended = issue(daysFromNow(-0.5));
  const files = await filesWith(ended);
  await chmod(files.key, 0o644);
  const gateway = await shared.start(settingsOf(files));
  // It is used all the same: clients decide whether to accept it.
  await eventually(async () => linesOf(gateway, 'certificate expired')[0]);
  expect(linesOf(gateway, 'certificate expired')).toMatchObject([{ level: 'error' }]);
  expect(linesOf(gateway, 'every user of this machine can read the TLS key')).toMatchObject([
    { path: files.key },
  ]);

  const soon = issue(daysFromNow(5));
  await replace(files, soon);
  await eventually(async () => linesOf(gateway, 'certificate expires soon')[0]);
  expect(linesOf(gateway, 'certificate expires soon')).toMatchObject([{ level: 'warn', within_days: 7 }]);
  expect((await purchaser(gateway, true)()).certificate).toBe(soon.fingerprint);

  gateway.kill('SIGHUP');
  await eventually(async () => inUse(gateway)[2]);
  expect(inUse(gateway)).toEqual([ended, soon, soon].map(({ fingerprint }) => fingerprint));
  expect((await gateway.stop()).code).toBe(0);
});

function statusOf(pid: number | string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

/** Its child processes. In one go: to wait for each file takes long in a process that is under load itself. */
function workersOf({ pid }: InstalledGateway): number[] {
  const isWorker = (status: string) => status.includes(`\nPPid:\t${pid}\n`) && /^State:\t[^ZX]/m.test(status);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isWorker(statusOf(name)))
    .map(Number);
}
