// What a proof prints: its progress, every broken promise, and one line of figures at the end.

const SHOWN = 20;

export function say(line) {
  process.stdout.write(`${line}\n`);
}

/** Prints what was broken, then the figures with their sum, and returns the exit code. */
export function verdict(broken, figures) {
  let total = 0;
  for (const [promise, cases] of Object.entries(broken)) {
    if (cases.length === 0) continue;
    total += cases.length;
    say(`BROKEN: ${promise} (${cases.length} times)`);
    for (const one of cases.slice(0, SHOWN)) say(`  ${one}`);
  }
  say(`${figures}; ${total} promises broken`);
  return total === 0 ? 0 : 1;
}

/** A share of 1 is the greatest. Zero when there are no values. */
export function percentile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return Math.round(sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0);
}
