// What proofs and benches print: lines of progress, and figures that stand for many.

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A share of 1 is the greatest. Zero when there are no values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return Math.round(sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0);
}

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
