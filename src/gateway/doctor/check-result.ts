// The result of a check: one line, and what to do about it.

export type Result = 'ok' | 'warning' | 'failed' | 'not checked';

export interface CheckResult {
  readonly check: string;
  readonly result: Result;
  readonly found: string;
  /** If the result is not good. */
  readonly todo?: string | undefined;
}

export function ok(check: string, found: string): CheckResult {
  return { check, result: 'ok', found };
}

export function warning(check: string, found: string, todo: string): CheckResult {
  return { check, result: 'warning', found, todo };
}

export function failure(check: string, found: string, todo: string): CheckResult {
  return { check, result: 'failed', found, todo };
}

export function notChecked(check: string, found: string): CheckResult {
  return { check, result: 'not checked', found };
}

export interface Limits {
  readonly warnAbove: number;
  readonly failAbove?: number;
}

/** The result for a lag or an age. */
export function byAge(
  check: string,
  seconds: number | null,
  { warnAbove, failAbove = Number.POSITIVE_INFINITY }: Limits,
  { nothing, found, todo }: { nothing: string; found: (age: string) => string; todo: string },
): CheckResult {
  if (seconds === null || seconds < 0) return ok(check, nothing);
  const line = found(inWords(seconds));
  if (seconds > failAbove) return failure(check, line, todo);
  return seconds > warnAbove ? warning(check, line, todo) : ok(check, line);
}

const UNITS = [
  [86_400, 'days'],
  [3_600, 'hours'],
  [60, 'minutes'],
] as const;

export function inWords(seconds: number): string {
  const [size, unit] = UNITS.find(([each]) => seconds >= 2 * each) ?? [1, 'seconds'];
  return `${Math.round(seconds / size)} ${unit}`;
}
