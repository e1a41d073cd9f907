// What an interrupted test run leaves: the next one removes it, and nothing else.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeRunFolder, removeAbandonedRuns, removeRun } from '../testkit/test-runs.js';

/** A process that was started with this folder as its TMPDIR, and that runs until it is ended. */
async function runningIn(folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout as NodeJS.EventEmitter, 'data');
  return child;
}

test.runIf(process.platform === 'linux')(
  'a killed run → its folder and its processes are removed; those of a running one stay until it ends',
  async () => {
    const place = await mkdtemp(join(tmpdir(), 'tollgate-runs-'));
    const ofVitest = join(place, 'vitest');
    await mkdir(ofVitest);
    const living = await makeRunFolder(place, ofVitest);
    // A process with this pid is there, but began at another time.
    const dead = join(place, `tollgate-run-${process.pid}-1-abcdef`);
    await mkdir(join(dead, 'tollgate-gateway-1'), { recursive: true });
    await writeFile(join(dead, 'tollgate-gateway-1', 'key'), '');
    const [left, other] = await Promise.all([runningIn(join(dead, 'tollgate-gateway-1')), runningIn(living)]);
    const ended = once(left, 'exit');
    await removeAbandonedRuns(place);
    await ended;
    expect([existsSync(dead), existsSync(living), other.exitCode, other.signalCode]).toEqual([
      false,
      true,
      null,
      null,
    ]);
    const otherEnded = once(other, 'exit');
    await removeRun(living);
    await otherEnded;
    expect([existsSync(living), existsSync(ofVitest)]).toEqual([false, false]);
  },
);
