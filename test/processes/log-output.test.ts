// The log and who reads it: a reader that stops reading, or goes, must neither stop the gateway nor keep it from ending.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { client } from '../../testkit/client.js';
import { type Installation, installation } from '../../testkit/cloned-installation.js';
import { dataDirectory, eventually, type RunningProcess, start } from '../../testkit/gateway-process.js';

let shared: Installation;
let dataDir: string;
beforeAll(async () => {
  [shared, dataDir] = await Promise.all([installation(), dataDirectory()]);
});

/** A program of the shell whose standard output goes to a pipe that only this test reads. */
async function piped(program: string, environment = {}) {
  const path = join(await dataDirectory(), 'log');
  await promisify(execFile)('mkfifo', [path]);
  const running = start(['-c', `exec ${program} > '${path}'`], environment, { command: 'sh' });
  return { running, reader: await open(path) };
}

async function pipedGateway() {
  const { running, reader } = await piped(`${process.execPath} bin/tollgate.js serve`, {
    DATABASE_URL: shared.databaseUrl,
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_PORT: '0',
  });
  const [, baseUrl = ''] = await eventually(
    async () => /listens on (\S+)/.exec(running.output()) ?? undefined,
  );
  return { running, reader, api: client(baseUrl) };
}

async function stopped(running: RunningProcess): Promise<number | null> {
  running.kill('SIGTERM');
  return (await running.ended).code;
}

test.concurrent('the reader goes at the moment of SIGTERM → the gateway ends', async () => {
  const { running, reader } = await pipedGateway();
  await reader.close();
  expect(await stopped(running)).toBe(0);
});

test.concurrent('the reader has gone for a while → requests are answered, and the gateway ends', async () => {
  const { running, reader, api } = await pipedGateway();
  await reader.close();
  for (let sent = 0; sent < 5; sent += 1) {
    expect((await api.lookUp(1)).status).toBe(401);
    // Longer than a line waits to be written.
    await sleep(250);
  }
  expect(await stopped(running)).toBe(0);
});

test.concurrent('nobody reads what fills the pipe → requests are answered, and the gateway ends', async () => {
  const { running, reader, api } = await pipedGateway();
  for (let sent = 0; sent < 1_000; sent += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.lookUp(1)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  }
  expect(await stopped(running)).toBe(0);
  await reader.close();
});

test.concurrent('more than is kept, and then a reader → whole lines in order, and how many are missing', async () => {
  const lines = 80_000;
  const script = `
    import { LogOutput } from './dist/cli/log-output.js';
    const output = new LogOutput(4096);
    process.on('exit', () => output.flushSync());
    for (let line = 0; line < ${lines}; line += 1) output.write(JSON.stringify({ line, text: 'x'.repeat(180) }) + '\\n');
    process.stderr.write('written');
    process.on('SIGUSR2', () => process.exit());
    setInterval(() => {}, 1000);`;
  const { running, reader } = await piped(
    `${process.execPath} --input-type=module -e '${script.replaceAll("'", `'"'"'`)}'`,
  );
  await eventually(async () => running.output().includes('written') || undefined);
  let text = '';
  const reading = reader.createReadStream({ encoding: 'utf8' }).on('data', (chunk) => {
    text += chunk;
  });
  await eventually(async () => text.includes('dropped') || undefined);
  running.kill('SIGUSR2');
  await once(reading, 'end');
  const read = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { lines: dropped } = read.find(({ msg }) => msg === 'nobody read the log, and lines were dropped');
  const kept = read.flatMap(({ line }) => line ?? []);
  expect(kept).toEqual(Array.from({ length: lines - dropped }, (_, line) => line));
  expect(kept.length).toBeGreaterThan(20_000);
});
