// What the benches print of one operation.
import type { MeasuredLoad } from './measured.js';

/** One line of figures for one operation. */
export function shown(name: string, connections: number, measured: MeasuredLoad, memory: number): string {
  const { perSecond, p50Ms, p99Ms, cpuMs, statuses } = measured;
  const cpu = Object.entries(cpuMs)
    .map(([part, ms]) => `${part} ${ms.toFixed(2)}`)
    .join(', ');
  return [
    `${name.padEnd(22)} ${String(connections).padStart(3)} connections`,
    `${String(perSecond).padStart(6)}/s`,
    `p50 ${p50Ms} ms`,
    `p99 ${p99Ms} ms`,
    // Milliseconds each are seconds for a thousand.
    `CPU s per 1,000: ${cpu}`,
    `${memory} MiB`,
    JSON.stringify(statuses),
  ].join('  ');
}
