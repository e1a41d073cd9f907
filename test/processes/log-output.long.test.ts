// The log and its reader: a reader that stops or leaves must neither stop the gateway nor keep it from ending.
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
  shared = await installation();
  dataDir = shared.dataDir;
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
    TOLLGATE_CHECKOUT_PORT: 'off',
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

test.concurrent('the reader closes the pipe at the moment of SIGTERM → the gateway ends', async () => {
  const { running, reader } = await pipedGateway();
  await reader.close();
  expect(await stopped(running)).toBe(0);
});

test.concurrent('the reader closed the pipe some time ago → requests are answered, and the gateway ends', async () => {
  const { running, reader, api } = await pipedGateway();
  await reader.close();
  for (let sent = 0; sent < 5; sent += 1) {
    expect((await api.lookUp(1)).status).toBe(401);
    // Longer than a line waits to be written.
    await sleep(250);
  }
  expect(await stopped(running)).toBe(0);
});

test.concurrent('nobody reads the full pipe → requests are answered, and the gateway ends', async () => {
  const { running, reader, api } = await pipedGateway();
  for (let sent = 0; sent < 1_000; sent += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.lookUp(1)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  }
  expect(await stopped(running)).toBe(0);
  await reader.close();
});

/** A program that writes to the log as `script` says, and ends at SIGUSR2. `output` is the log. */
async function pipedLog(script: string) {
  const program = `
    import { LogOutput } from './dist/gateway/observability/log-output.js';
    const output = new LogOutput(4096);
    process.on('exit', () => output.flushSync());
    ${script}
    process.on('SIGUSR2', () => process.exit());
    process.stderr.write('written');
    setInterval(() => {}, 1000);`;
  const { running, reader } = await piped(
    `${process.execPath} --input-type=module -e '${program.replaceAll("'", `'"'"'`)}'`,
  );
  await eventually(async () => running.output().includes('written') || undefined);
  return { running, reader };
}

const numbered = (lines: number) => `
  for (let line = 0; line < ${lines}; line += 1) output.write(JSON.stringify({ line, text: 'x'.repeat(180) }) + '\\n');`;

function linesOf(text: string): { line?: number; msg?: string; lines?: number }[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

// sonic-boom tries for ever to write the rest.
test.concurrent('the reader has closed the pipe when the last lines are written → the process ends', async () => {
  const { running, reader } = await pipedLog('output.write("{}\\n");');
  await reader.close();
  running.kill('SIGUSR2');
  expect((await running.ended).code).toBe(0);
});

// sonic-boom loses what waits for room.
test.concurrent('the pipe is full when the process ends, and is read only then → no line is missing', async () => {
  const lines = 1_000;
  // As in the gateway, where the question whether it is a terminal makes writing to a full pipe fail instead of wait.
  const { running, reader } = await pipedLog(`process.stdout.isTTY;${numbered(lines)}`);
  // Until the pipe is full and the next block has been refused.
  await sleep(500);
  running.kill('SIGUSR2');
  await sleep(100);
  let text = '';
  for await (const chunk of reader.createReadStream({ encoding: 'utf8' })) text += chunk;
  expect(linesOf(text).map(({ line }) => line)).toEqual(Array.from({ length: lines }, (_, line) => line));
});

test.concurrent('more than the buffer holds, then a reader → whole lines in order, and the number of missing ones', async () => {
  const lines = 80_000;
  const { running, reader } = await pipedLog(numbered(lines));
  let text = '';
  const reading = reader.createReadStream({ encoding: 'utf8' }).on('data', (chunk) => {
    text += chunk;
  });
  await eventually(async () => text.includes('dropped') || undefined);
  running.kill('SIGUSR2');
  await once(reading, 'end');
  const read = linesOf(text);
  const { lines: dropped = 0 } = read.find(({ msg }) => msg === 'log lines dropped') ?? {};
  const kept = read.flatMap(({ line }) => line ?? []);
  expect(kept).toEqual(Array.from({ length: lines - dropped }, (_, line) => line));
  expect(kept.length).toBeGreaterThan(20_000);
});
