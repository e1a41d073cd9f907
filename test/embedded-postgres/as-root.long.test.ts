// The embedded PostgreSQL for root, whom PostgreSQL itself does not serve: who runs it, and whose its files are.
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import { keepsData, newDirectory, query, removeWhatWasMade } from './data-directories.js';

afterEach(async () => {
  await removeWhatWasMade();
});

const isRoot = process.getuid?.() === 0;
const isLinux = process.platform === 'linux';
const skipped = isRoot && isLinux ? '' : ' (skipped: not root on Linux)';
describe.skipIf(skipped !== '')(`as root${skipped}`, () => {
  async function closedDirectory(): Promise<string> {
    const directory = await newDirectory();
    await mkdir(join(directory, 'home', 'app'), { recursive: true });
    await chmod(join(directory, 'home'), 0o700);
    return join(directory, 'home', 'app', 'data');
  }

  async function clusterOwner(dataDir: string): Promise<number> {
    return (await stat(join(dataDir, 'postgres'))).uid;
  }

  test('another user runs the server, even inside a closed directory', async () => {
    const dataDir = await closedDirectory();
    await keepsData(dataDir);
    expect(await clusterOwner(dataDir)).not.toBe(0);
    expect((await stat(join(dataDir, 'postgres-password'))).uid).toBe(0);
  });

  test('a database whose files belong to root is adopted, even inside a closed directory', async () => {
    const dataDir = await closedDirectory();
    await keepsData(dataDir);
    const cluster = join(dataDir, 'postgres');
    for (const name of ['.', ...(await readdir(cluster, { recursive: true }))])
      await chown(join(cluster, name), 0, 0);
    const server = await openEmbeddedPostgres({ dataDir });
    expect(await query(server.url, 'SELECT value FROM kept')).toEqual([{ value: 42 }]);
    await server.stop();
    expect(await clusterOwner(dataDir)).not.toBe(0);
  });

  test('its superuser cannot read files that only root may read', async () => {
    const dataDir = await closedDirectory();
    const secret = join(dataDir, '..', 'secret');
    await mkdir(dataDir, { recursive: true });
    await writeFile(secret, 'of root', { mode: 0o600 });
    await writeFile(join(dataDir, 'key-encryption-key'), 'of root', { mode: 0o600 });
    const server = await openEmbeddedPostgres({ dataDir });
    for (const path of [
      secret,
      join(dataDir, 'key-encryption-key'),
      join(dataDir, 'postgres-password'),
      '/etc/shadow',
    ]) {
      await expect(query(server.url, `SELECT pg_read_file('${path}')`)).rejects.toMatchObject({
        code: '42501',
      });
    }
    const ids = await query(
      server.url,
      `CREATE TEMP TABLE said (line text); COPY said FROM PROGRAM 'id -u'; SELECT line FROM said`,
    );
    expect(ids).not.toEqual([{ line: '0' }]);
    await server.stop();
  });

  test('the data directory of an ordinary user still belongs to that user', async () => {
    const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
    const uid = Number(users.find(([name]) => name === 'nobody')?.[2]);
    const dataDir = await newDirectory();
    await chown(dataDir, uid, uid);
    await keepsData(dataDir);
    const names = await readdir(dataDir);
    const owners = await Promise.all(names.map(async (name) => (await stat(join(dataDir, name))).uid));
    expect(new Set(owners)).toEqual(new Set([uid]));
  });
});
