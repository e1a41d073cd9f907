// After a crash PostgreSQL recovers in a process of its own, "startup". If that process dies as soon as it begins (full disk, no memory),
// PostgreSQL 18 may not notice, and reports for ever that it is recovering.
import { readdir, readFile } from 'node:fs/promises';
import { ps } from './ps.js';

const LOOK_EVERY_MS = 1_000;
/** A healthy server has neither process for a moment. */
const LOST_AFTER_MS = 10_000;

/** Whether the server neither recovers nor runs. A server whose processes cannot be seen counts as healthy. */
export async function hasLostRecovery(postmaster: number): Promise<boolean> {
  const titles = await childrenOf(postmaster);
  const has = (name: string) => titles.some((title) => title.startsWith(`postgres: ${name}`));
  // "walwriter" runs from the end of the recovery on.
  return has('checkpointer') && !has('startup') && !has('walwriter');
}

/** Watches servers, one after the other, while a caller waits for them. */
export class RecoveryWatch {
  #nextLookMs = 0;
  #lost: { readonly postmaster: number; readonly sinceMs: number } | undefined;

  /** True if recovery has been lost for so long that it will not come back. */
  async seesNone(postmaster: number): Promise<boolean> {
    const nowMs = performance.now();
    if (nowMs < this.#nextLookMs) return false;
    this.#nextLookMs = nowMs + LOOK_EVERY_MS;
    if (!(await hasLostRecovery(postmaster))) {
      this.#lost = undefined;
      return false;
    }
    if (this.#lost?.postmaster !== postmaster) this.#lost = { postmaster, sinceMs: nowMs };
    return nowMs - this.#lost.sinceMs >= LOST_AFTER_MS;
  }
}

async function childrenOf(parent: number): Promise<string[]> {
  if (process.platform === 'win32') return [];
  if (process.platform !== 'linux') return childrenByPs(parent);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const titles = await Promise.all(
    pids.map(async (pid) => {
      // "14259 (postgres) S 14175 …": the name may have anything in it.
      const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      const [, , itsParent] = status.slice(status.lastIndexOf(')')).split(' ');
      return Number(itsParent) === parent ? readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : '';
    }),
  );
  return titles.filter((title) => title !== '');
}

async function childrenByPs(parent: number): Promise<string[]> {
  return (await ps(['-ax', '-ww', '-o', 'ppid=,command=']))
    .split('\n')
    .map((line) => /^\s*(\d+) (.*)$/.exec(line))
    .flatMap((match) => (match?.[2] !== undefined && Number(match[1]) === parent ? [match[2]] : []));
}
