// In charge of reading durations such as `3d` or `250ms`.

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds, or undefined if the text is not a positive whole number with a unit. */
export function parseDuration(text: string): number | undefined {
  const parts = /^([1-9][0-9]*)(ms|s|m|h|d)$/.exec(text);
  const unitMs = UNIT_MS[parts?.[2] ?? ''];
  if (unitMs === undefined) return undefined;
  const durationMs = Number(parts?.[1]) * unitMs;
  return Number.isSafeInteger(durationMs) ? durationMs : undefined;
}
