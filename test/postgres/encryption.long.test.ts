// TLS to the database: the address that production asks for encrypts, and looks at whom it talks to.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import { Database } from '../../src/postgres/database.js';
import { unsafeServers } from '../../src/postgres/database-url.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { dataDirectory } from '../../testkit/gateway-process.js';

type Server = Awaited<ReturnType<typeof openEmbeddedPostgres>>;

const ours = makeCertificate({ of: ['localhost'] });
let server: Server;
let folder: string;

beforeAll(async () => {
  folder = await dataDirectory();
  server = await openEmbeddedPostgres({ dataDir: folder });
  await writeFile(join(folder, 'ours.pem'), ours.certificate);
  await writeFile(join(folder, 'others.pem'), makeCertificate().certificate);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  // By the server itself, so that the files belong to whomever it runs as.
  const place = async (text: string, file: string) => {
    await client.query('CREATE TEMPORARY TABLE IF NOT EXISTS line (text text)');
    await client.query('TRUNCATE line');
    await client.query('INSERT INTO line SELECT unnest($1::text[])', [text.trim().split('\n')]);
    await client.query(`COPY line TO PROGRAM 'umask 077; cat > ${file}'`);
  };
  await place(ours.certificate, 'server.crt');
  await place(ours.key, 'server.key');
  await client.query('ALTER SYSTEM SET ssl = on');
  await client.query('SELECT pg_reload_conf()');
  await client.end();
});
afterAll(() => server.stop());

function urlWith(query: string, host = 'localhost'): string {
  const url = new URL(server.url);
  url.hostname = host;
  return `${url.href}?${query.replace('FOLDER', encodeURIComponent(folder))}`;
}

async function isEncrypted(url: string): Promise<boolean | undefined> {
  const database = new Database(url, { maxConnections: 1 });
  try {
    const { rows } = await database.query<{ ssl: boolean }>({
      name: '',
      text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
    });
    return rows[0]?.ssl;
  } finally {
    await database.close();
  }
}

test.each([
  ['sslmode=verify-full&sslrootcert=FOLDER/ours.pem', true],
  ['sslmode=no-verify', true],
  ['sslmode=disable', false],
])('%s → encrypted: %s', async (query, encrypted) => {
  expect(await isEncrypted(urlWith(query))).toBe(encrypted);
});

test.each([
  [
    'an authority that has not issued its certificate',
    'sslmode=verify-full&sslrootcert=FOLDER/others.pem',
    'localhost',
  ],
  ['no authority of its own', 'sslmode=verify-full', 'localhost'],
])('verify-full with %s → no session', async (_, query, host) => {
  await expect(isEncrypted(urlWith(query, host))).rejects.toThrow();
});

test.each([
  ['sslmode=verify-full&sslrootcert=FOLDER/ours.pem', []],
  ['sslmode=no-verify', ['db.example:5432']],
  ['', ['db.example:5432']],
])('on another host, %s is safe except with %j', (query, unsafe) => {
  const url = `postgres://gateway@db.example:5432/gateway?${query.replace('FOLDER', encodeURIComponent(folder))}`;
  expect(unsafeServers(url)).toEqual(unsafe);
});
