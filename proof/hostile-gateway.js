// The gateway process that hostile input is sent to: a fresh data directory, its log read line by line, and measures
// taken inside it.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const PROGRAM = new URL('../bin/tollgate.js', import.meta.url).pathname;
const INSIDE = new URL('./hostile-inside.js', import.meta.url).href;

/** `onLine` gets every line of the log and of the standard error output, `onStall` every stall of the event loop. */
export async function startGateway({ onLine, onStall }) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-hostile-'));
  const inherited = Object.entries(process.env).filter(([name]) => !/^(DATABASE_URL|TOLLGATE_)/.test(name));
  const child = spawn(process.execPath, ['--expose-gc', '--import', INSIDE, PROGRAM, 'serve'], {
    env: {
      ...Object.fromEntries(inherited),
      TOLLGATE_DATA_DIR: dataDir,
      TOLLGATE_PORT: '0',
      TOLLGATE_LOG_LEVEL: 'debug',
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const waiting = [];
  child.on('message', ({ stall, measures }) => {
    if (stall) onStall(stall);
    if (measures) waiting.shift()?.resolve(measures);
  });
  const ended = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      for (const { reject } of waiting) reject(new Error('the gateway ended'));
      resolve({ code, signal });
    });
  });
  createInterface({ input: child.stderr }).on('line', onLine);
  const port = await new Promise((resolve, reject) => {
    ended.then(({ code, signal }) => reject(new Error(`the gateway ended with ${signal ?? code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      onLine(line);
      const url = line.includes('"listening"') && JSON.parse(line).base_url;
      if (url) resolve(Number(new URL(url).port));
    });
  });
  const { username, password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
  return {
    port,
    username,
    password,
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    ended,
    /** With the wish `memory` after a garbage collection. */
    measure: (wish) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        child.send(wish ?? 'stalls');
      }),
    serverLog: () => readFile(join(dataDir, 'postgres.log'), 'latin1').catch(() => ''),
    /** How it ended. */
    async stop() {
      if (!this.hasEnded()) child.kill('SIGTERM');
      const end = await ended;
      await endPostgres(dataDir);
      await rm(dataDir, { recursive: true, force: true });
      return end;
    },
  };
}

/** That of a gateway that crashed runs on, and nobody else would end it. */
async function endPostgres(dataDir) {
  const file = join(dataDir, 'postgres', 'postmaster.pid');
  const content = await readFile(file, 'utf8').catch(() => undefined);
  if (content === undefined) return;
  process.kill(Number.parseInt(content, 10), 'SIGQUIT');
  while (await stat(file).catch(() => undefined)) await sleep(20);
}
