// Three cells behind HAProxy, by the configuration and the map that the commands print: each name leads to its cell, over TLS.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { basicAuthorization, paymentBody } from '../../testkit/bodies.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { runHere } from '../../testkit/command-here.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type HttpCaller, httpsCaller } from '../../testkit/http-call.js';

const isThere = spawnSync('haproxy', ['-v']).status === 0;
const skipped = isThere ? '' : ' (skipped: there is no haproxy)';
const SOON = { timeout: 300_000, interval: 100 };
const NAMES = ['one', 'two', 'three'] as const;
const HOSTS = [...NAMES, 'acme', 'bolt', 'nobody'].map((name) => `${name}.pay.example`);

describe.skipIf(!isThere)(`three cells behind HAProxy${skipped}`, () => {
  let folder: string;
  let port: number;
  let cells: TestGateway[];
  let proxy: ChildProcess;
  let send: HttpCaller;
  const fleetFile = () => join(folder, 'fleet.json');
  const fleet = (...words: string[]) => runHere(['fleet', ...words], { TOLLGATE_FLEET_FILE: fleetFile() });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tollgate-proxy-'));
    port = await freePort();
    cells = [];
    for (const _ of NAMES) cells.push(await testGateway());
    const listed = NAMES.map((name, index) => {
      const { baseUrl } = cells[index] as TestGateway;
      return {
        name,
        address: `https://${name}.pay.example`,
        gateways: [new URL(baseUrl).host],
        settings: join(folder, name),
      };
    });
    await writeFile(fleetFile(), JSON.stringify({ cells: listed }));
    for (const [index, name] of NAMES.entries()) {
      const { databaseUrl, dataDir, sql } = cells[index] as TestGateway;
      await sql(`BEGIN; SET LOCAL session_replication_role = replica;
        UPDATE gateway SET cell = '${name}', cell_number = ${index + 1}; COMMIT`);
      await writeFile(join(folder, name), `DATABASE_URL=${databaseUrl}\nTOLLGATE_DATA_DIR=${dataDir}\n`);
    }
    await cells[0]?.sqlSealed(`UPDATE organisation SET host_name = 'acme.pay.example' WHERE id = 1`);
    await cells[1]?.sqlSealed(`UPDATE organisation SET host_name = 'bolt.pay.example' WHERE id = 1`);
    const { certificate, key } = makeCertificate({ of: HOSTS.concat('127.0.0.1') });
    await writeFile(join(folder, 'site.pem'), certificate + key);
    await makeMap();
    const places = { bind: `127.0.0.1:${port}`, certificates: join(folder, 'site.pem'), map: mapFile() };
    const options = Object.entries({ ...places, socket: socketFile() }).flatMap(([name, place]) => [
      `--${name}`,
      place,
    ]);
    const { code, stdout } = await fleet('proxy', ...options);
    expect(code).toBe(0);
    await writeFile(join(folder, 'haproxy.cfg'), stdout);
    const checked = spawnSync('haproxy', ['-c', '-f', join(folder, 'haproxy.cfg')], { encoding: 'utf8' });
    expect(checked.status, checked.stderr).toBe(0);
    expect(checked.stderr).not.toMatch(/WARNING|ALERT/);
    proxy = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' });
    send = httpsCaller({ trusted: certificate });
    await vi.waitFor(async () => expect((await pay('three.pay.example')).status).toBe(201), SOON);
  });
  afterAll(async () => {
    proxy?.kill();
    await Promise.all((cells ?? []).map((cell) => cell.close()));
    await rm(folder, { recursive: true, force: true });
  });

  const mapFile = () => join(folder, 'fleet.map');
  const socketFile = () => join(folder, 'admin.sock');
  async function makeMap() {
    const { code, stdout } = await fleet('map');
    expect(code).toBe(0);
    await writeFile(mapFile(), stdout);
  }

  /** All cells have the same cast, so that the books show where a payment has gone. */
  async function pay(host: string) {
    const headers = {
      host,
      authorization: basicAuthorization((cells[0] as TestGateway).owner),
      'content-type': 'application/json',
      'x-correlation-id': randomUUID(),
    };
    const asked = { method: 'POST', headers, body: JSON.stringify(paymentBody()) };
    const { status, text } = await send(`https://127.0.0.1:${port}/v1/transactions/purchase`, asked);
    const body = JSON.parse(text);
    return { status, code: body.errors?.[0]?.error_code, base: body._links?.base?.href };
  }
  const booked = async () => Promise.all(cells.map(async (cell) => (await cell.ledger()).length));
  async function paidIn(host: string): Promise<number[]> {
    const before = await booked();
    expect((await pay(host)).status, host).toBe(201);
    const after = await booked();
    return after.flatMap((count, index) => (count > (before[index] as number) ? [index] : []));
  }

  test('every name leads to its cell, whatever its case and port', async () => {
    expect(await paidIn('acme.pay.example')).toEqual([0]);
    expect(await paidIn(`Acme.Pay.Example:${port}`)).toEqual([0]);
    expect(await paidIn('bolt.pay.example')).toEqual([1]);
    expect(await paidIn('three.pay.example')).toEqual([2]);
  });

  test('a name of nobody, and a cell at which the organisation has another name → 421', async () => {
    const nobody = await pay('nobody.pay.example');
    expect([nobody.status, nobody.code]).toEqual([421, 'organisation_moved']);
    const other = await pay('one.pay.example');
    expect([other.status, other.base]).toEqual([421, 'https://acme.pay.example/']);
  });

  test('an organisation that has moved is found in its new cell with the next map', async () => {
    await cells[2]?.sqlSealed(`UPDATE organisation SET host_name = 'acme.pay.example' WHERE id = 1`);
    await cells[0]?.sqlSealed(`UPDATE organisation SET residence = 'moved', moved_to = 'three',
      moved_to_address = 'https://three.pay.example' WHERE id = 1`);
    await vi.waitFor(async () => expect((await pay('acme.pay.example')).status).toBe(421), SOON);
    await makeMap();
    // As a reload does, which takes longer.
    const told = spawnSync('socat', ['stdio', socketFile()], {
      input: `set map ${mapFile()} acme.pay.example three\n`,
    });
    if (told.status !== 0) {
      proxy.kill();
      proxy = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' });
    }
    await vi.waitFor(async () => expect(await paidIn('acme.pay.example')).toEqual([2]), SOON);
  });

  test('a cell that is gone answers 503 in the gateway’s form, and concerns no other', async () => {
    await cells[1]?.close();
    await vi.waitFor(async () => {
      const gone = await pay('bolt.pay.example');
      expect([gone.status, gone.code]).toEqual([503, 'unavailable']);
    }, SOON);
    expect(await paidIn('acme.pay.example')).toEqual([2]);
    const { code, stdout } = await fleet('status');
    expect([code, stdout]).toEqual([1, expect.stringContaining('! gateway')]);
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
