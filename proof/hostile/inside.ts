// Loaded into the gateway's process by hostile-gateway: tells when its event loop stood still, and its memory.
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { wipeYoungHeap } from '../../src/gateway/wipe-young-heap.js';

/** When the event loop stood still. */
export interface Stall {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Measures {
  readonly rss: number;
  readonly heapUsed: number;
  /** The longest delay since the last measures, with waits for a core. */
  readonly delayMs: number;
  /** Without them. */
  readonly stallMs: number;
}

export interface FromInside {
  readonly stall?: Stall;
  readonly measures?: Measures;
}

export type Wish = 'memory' | 'stalls';

const EVERY_MS = 10;
const STALL_MS = 100;

const delay = monitorEventLoopDelay({ resolution: EVERY_MS });
delay.enable();
let lastMs = performance.now();
let lastWaitedMs = waitedMs();
let busyMs = 0;
let measuring = false;

/** How long this thread was ready to run and got no core, where the system tells: that is no input's doing. */
function waitedMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

function tell(message: FromInside): void {
  process.send?.(message);
}

setInterval(() => {
  const nowMs = performance.now();
  const nowWaitedMs = waitedMs();
  const lateMs = nowMs - lastMs - EVERY_MS - (nowWaitedMs - lastWaitedMs);
  if (!measuring) busyMs = Math.max(busyMs, lateMs);
  if (lateMs > STALL_MS && !measuring && process.connected) {
    tell({ stall: { fromMs: performance.timeOrigin + lastMs, untilMs: performance.timeOrigin + nowMs } });
  }
  lastMs = nowMs;
  lastWaitedMs = nowWaitedMs;
}, EVERY_MS).unref();

process.on('message', async (wish: Wish) => {
  // Whatever came before this wish has had its turn then, and its stall is counted.
  await sleep(2 * EVERY_MS);
  // The histogram's values hold the pause between two looks as well.
  const delayMs = Math.max(0, delay.max / 1e6 - EVERY_MS);
  const stallMs = busyMs;
  measuring = true;
  if (wish === 'memory') {
    // So that every measure has the whole of the young memory in it, and not only those after the gateway's own first time.
    await wipeYoungHeap();
    globalThis.gc?.();
    globalThis.gc?.();
  }
  const { rss, heapUsed } = process.memoryUsage();
  // The collection itself is no stall by input.
  await sleep(2 * EVERY_MS);
  delay.reset();
  busyMs = 0;
  measuring = false;
  tell({ measures: { rss, heapUsed, delayMs, stallMs } });
});
// Nobody is left who would stop it.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The gateway ends when it wants to, whoever listens.
process.channel?.unref();
