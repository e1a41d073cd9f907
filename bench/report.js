// What the benches print.

export const say = (line) => process.stdout.write(`${line}\n`);

export function median(values) {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];
}

/** One line of figures for one operation. */
export function shown(name, connections, { perSecond, p50Ms, p99Ms, cpuMs, statuses }, memory) {
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
