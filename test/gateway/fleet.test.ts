// A fleet of two cells: two gateways, each on a database of its own, as one machine sees them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Fleet, readFleet } from '../../src/installation/fleet/fleet-file.js';
import { hostMap } from '../../src/installation/fleet/host-map.js';
import { PROGRAM_VERSION } from '../../src/values/program.js';
import { paymentBody } from '../../testkit/bodies.js';
import { runHere } from '../../testkit/command-here.js';
import { type ConsoleClient, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { scrape } from '../../testkit/scrape.js';

const SOON = { timeout: 300_000, interval: 50 };

let folder: string;
let one: TestGateway;
let two: TestGateway;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-fleet-'));
  const settings = { FLEET_FILE: join(folder, 'fleet-of-console.json') };
  one = await testGateway({ settings });
  two = await testGateway();
  // Both have the same cast: no command would name a cell that has organisations.
  await two.sql(`BEGIN; SET LOCAL session_replication_role = replica;
    UPDATE gateway SET cell = 'two', cell_number = 2; COMMIT`);
  for (const [name, cell] of [['one', one] as const, ['two', two] as const])
    await writeFile(
      join(folder, name),
      `# Settings of the cell.\nDATABASE_URL='${cell.databaseUrl}'\n\nTOLLGATE_DATA_DIR=${cell.dataDir}\n`,
    );
});
afterAll(async () => {
  await Promise.all([one.close(), two.close()]);
  await rm(folder, { recursive: true, force: true });
});

const gatewayOf = ({ baseUrl }: TestGateway) => new URL(baseUrl).host;
const cellOf = (name: string, gateways: readonly string[], change: object = {}) => ({
  name,
  address: `https://${name}.pay.example`,
  gateways,
  settings: join(folder, name),
  ...change,
});
const usual = () => [cellOf('one', [gatewayOf(one)]), cellOf('two', [gatewayOf(two)])];

let files = 0;
async function fleetFile(content: unknown): Promise<string> {
  files += 1;
  const path = join(folder, `fleet-${files}.json`);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const fleet = async (words: readonly string[], cells: unknown = usual()) =>
  runHere(['fleet', ...words], { TOLLGATE_FLEET_FILE: await fleetFile({ cells }) });

describe('a fleet file', () => {
  test('with wrong fields → every one is named', async () => {
    const wrong = {
      cells: [
        { name: 'One', address: 'http://one.example', gateways: [], setings: '/x' },
        { ...cellOf('two', ['10.0.0.1:8080']), console: 'https://two.example/console', settings: 'two' },
        cellOf('two', ['10.0.0.1:8080', '10.0.0.1']),
        'three',
      ],
      extra: 1,
    };
    const error = await readFleet(await fleetFile(wrong)).catch((thrown: Error) => thrown.message);
    for (const field of [
      'extra is not known',
      'cells[0].name takes 1 to 31',
      'cells[0].address must be an address',
      'cells[0].gateways must be a list',
      'cells[0].setings is not known',
      'cells[1].console must be an address',
      'cells[1].settings must be the whole path',
      'cells[2].name is the same as cells[1].name',
      'cells[2].address is the same as cells[1].address',
      'cells[2].gateways must be a list',
      'cells[2].gateways[0] is the same as cells[1].gateways[0]',
      'cells[3] must be an object',
    ])
      expect(error).toContain(field);
  });

  test('that is not there, no JSON, or without cells → refused in one line', async () => {
    for (const [path, reason] of [
      [join(folder, 'none'), 'cannot be read (ENOENT)'],
      [await fleetFile('{'), 'is not JSON'],
      [await fleetFile([]), 'must be an object'],
      [await fleetFile({ cells: [] }), 'at least one cell'],
    ] as const)
      await expect(readFleet(path)).rejects.toThrow(reason);
    const none = await runHere(['fleet', 'status']);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('TOLLGATE_FLEET_FILE is needed')]);
  });
});

describe('fleet status', () => {
  test('shows what each cell is and has to do', async () => {
    expect((await two.api.purchase()).status).toBe(201);
    const { code, stdout } = await fleet(['status', '--json']);
    const { cells } = JSON.parse(stdout);
    const figures = { schema: expect.any(Number), releases: [PROGRAM_VERSION], organisations: 2, moving: 0 };
    expect(cells).toMatchObject([
      { name: 'one', figures: { ...figures, number: 1, merchants: 4, in_doubt: 0 }, problems: [] },
      { name: 'two', figures: { ...figures, number: 2 }, problems: [] },
    ]);
    expect(cells[0].gateways).toEqual([{ address: gatewayOf(one), ready: true }]);
    expect(code).toBe(0);
    const { stdout: text } = await fleet(['status']);
    expect(text).toContain('two (https://two.pay.example): 1 of 1 gateways ready; cell number 2');
  });

  test('with cells that do not answer → says which and why, within seconds, and ends with 1', async () => {
    // Takes connections, and says nothing.
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    await writeFile(join(folder, 'silent'), `DATABASE_URL=postgres://x:y@127.0.0.1:${port}/x\n`);
    await writeFile(join(folder, 'gone'), 'DATABASE_URL=postgres://x:y@127.0.0.1:9/x\n');
    const begunMs = performance.now();
    const { code, stdout } = await fleet(
      ['status'],
      [
        ...usual(),
        cellOf('silent', [`127.0.0.1:${port}`]),
        cellOf('gone', ['127.0.0.1:9']),
        cellOf('unread', [gatewayOf(one).replace('127.0.0.1', 'localhost')], { settings: undefined }),
        cellOf('other', ['127.0.0.2:9'], { settings: `${folder}/./one` }),
      ],
    );
    silent.close();
    expect(performance.now() - begunMs).toBeLessThan(20_000);
    expect(code).toBe(1);
    for (const line of [
      'one (https://one.pay.example): 1 of 1 gateways ready; cell number 1',
      'silent (https://silent.pay.example): 0 of 1 gateways ready',
      'gone (https://gone.pay.example): 0 of 1 gateways ready',
      '! gateway 127.0.0.1:9 is not ready: nothing listens',
      '! its database cannot be reached',
      'unread (https://unread.pay.example): ',
      '! its database is that of cell one',
    ])
      expect(stdout).toContain(line);
  });

  test('with two cells of one number → says so', async () => {
    await two.sql(
      `BEGIN; SET LOCAL session_replication_role = replica; UPDATE gateway SET cell_number = 1; COMMIT`,
    );
    const { code, stdout } = await fleet(['status']);
    await two.sql(
      `BEGIN; SET LOCAL session_replication_role = replica; UPDATE gateway SET cell_number = 2; COMMIT`,
    );
    expect([code, stdout]).toEqual([1, expect.stringContaining('it has the number of cell two')]);
  });
});

describe('fleet map', () => {
  const name = (cell: TestGateway, organisation: number, host: string) =>
    cell.sqlSealed(`UPDATE organisation SET host_name = $2 WHERE id = $1`, [organisation, host]);

  test('names the cell of each organisation, also of one that has moved; clients of the old one are told', async () => {
    await name(one, 1, 'acme.pay.example');
    await name(two, 1, 'acme.pay.example');
    await name(two, 2, 'bolt.pay.example');
    await one.sqlSealed(`UPDATE organisation SET residence = 'moved', moved_to = 'two',
      moved_to_address = 'https://two.pay.example' WHERE id = 1`);
    const { code, stdout } = await fleet(['map', '--format', 'haproxy']);
    expect([code, stdout]).toEqual([
      0,
      'one.pay.example one\ntwo.pay.example two\nacme.pay.example two\nbolt.pay.example two\n',
    ]);
    const at = { headers: { host: 'acme.pay.example' }, body: paymentBody() };
    const pay = (cell: TestGateway) => cell.api.call('/transactions/purchase', at);
    await vi.waitFor(async () => expect((await pay(one)).status).toBe(421), SOON);
    expect((await pay(one)).body).toMatchObject({ _links: { base: { href: 'https://acme.pay.example/' } } });
    await vi.waitFor(async () => expect((await pay(two)).status).toBe(201), SOON);
  });

  // catches(fleet: a map is made of sealed names alone)
  test('with a name that is not sealed, or a cell that cannot be read → prints none', async () => {
    await one.sql(`UPDATE organisation SET host_name = 'victim.pay.example' WHERE id = 2`);
    const altered = await fleet(['map']);
    expect([altered.code, altered.stdout, altered.stderr]).toEqual([
      1,
      '',
      expect.stringContaining('organisation 2 in one is not as it was sealed'),
    ]);
    await one.sql(`UPDATE organisation SET host_name = NULL WHERE id = 2`);
    const gone = await fleet(['map'], [...usual(), cellOf('gone', ['127.0.0.1:9'])]);
    expect([gone.code, gone.stdout, gone.stderr]).toEqual([
      1,
      '',
      expect.stringContaining('cell gone: its database cannot be reached'),
    ]);
  });

  // catches(fleet: a name that two cells have leads to neither)
  test('leads each name to the cell where its organisation is, and a name of two to neither', () => {
    const cells = ['one', 'two', 'three'].map((cell) => cellOf(cell, [`${cell}:8080`]));
    const hostName = 'acme.pay.example';
    const moved = (movedTo: string) => ({ hostName, residence: 'moved' as const, movedTo });
    const is = (residence: 'here' | 'arriving' | 'closing' | 'closed') => ({
      hostName,
      residence,
      movedTo: null,
    });
    const led = (...known: readonly [string, ReturnType<typeof moved> | ReturnType<typeof is>][]) => {
      const named = new Map(known.map(([cell, organisation]) => [cell, [organisation]]));
      const { entries, problems } = hostMap({ cells } as Fleet, named);
      return entries.find(({ host }) => host === hostName)?.cell ?? problems[0]?.rule;
    };
    expect(led(['one', is('here')])).toBe('one');
    expect(led(['one', is('closing')], ['two', is('arriving')])).toBe('one');
    expect(led(['one', is('closed')], ['two', is('arriving')])).toBe('one');
    expect(led(['one', is('closed')], ['two', is('here')])).toBe('two');
    expect(led(['one', moved('two')], ['two', is('here')])).toBe('two');
    expect(led(['one', moved('two')])).toBe('two');
    expect(led(['one', moved('two')], ['two', moved('three')])).toBe('three');
    expect(led(['one', moved('four')])).toBe('leads to four, which the fleet does not have');
    expect(led(['two', is('arriving')])).toBe('leads to no cell, which the fleet does not have');
    expect(led(['one', is('here')], ['two', is('here')])).toBe(
      'is the name of an organisation in one and in two',
    );
    const { problems } = hostMap(
      { cells } as Fleet,
      new Map([['one', [{ ...is('here'), hostName: 'two.pay.example' }]]]),
    );
    expect(problems).toEqual([
      { field: 'two.pay.example', rule: 'is the address of a cell, and the name of an organisation' },
    ]);
  });
});

test('fleet proxy prints a configuration with a backend for each cell, and TLS where gateways speak it', async () => {
  const cells = [
    cellOf('one', ['10.0.0.1:8080', '10.0.0.2:8080']),
    cellOf('two', ['https://gateway1:8080', 'https://10.0.1.2:8080']),
  ];
  const { code, stdout } = await fleet(['proxy', '--bind', '127.0.0.1:8443', '--map', '/x/hosts'], cells);
  expect(code).toBe(0);
  for (const line of [
    'bind 127.0.0.1:8443 ssl crt /etc/haproxy/tls/',
    'map(/x/hosts)',
    'backend cell_one\n',
    'server one-2 10.0.0.2:8080\n',
    'server two-1 gateway1:8080 ssl verify required ca-file /etc/haproxy/authority.pem verifyhost gateway1\n',
    'server two-2 10.0.1.2:8080 ssl verify required ca-file /etc/haproxy/authority.pem\n',
  ])
    expect(stdout).toContain(line);
});

test('the console names its cell, and to operators of the whole installation the consoles of the others', async () => {
  const [ada, fenced] = [await signedIn(one, { name: 'ada' }), await signedIn(one, { organisation: 2 })];
  const shown = async (operator: ConsoleClient) => {
    const { cell, other_cells: others } = (await operator.get('/session')).body;
    return [cell, others];
  };
  expect(await shown(ada)).toEqual(['one', []]);
  const consoles = ['one', 'two'].map((name) => ({ console: `https://console.${name}.pay.example` }));
  const cells = usual().map((cell, index) => ({ ...cell, ...consoles[index] }));
  await writeFile(
    join(folder, 'fleet-of-console.json'),
    JSON.stringify({ cells: [...cells, cellOf('three', ['x:1'])] }),
  );
  expect(await shown(ada)).toEqual(['one', [{ name: 'two', console: 'https://console.two.pay.example' }]]);
  expect(await shown(fenced)).toEqual(['one', []]);
});

test('metrics name the cell', async () => {
  const page = await scrape(two.operatorsUrl);
  expect(page.sum('tollgate_cell_info', { cell: 'two' })).toBe(1);
});
