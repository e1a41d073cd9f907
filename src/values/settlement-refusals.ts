// What an operator can be refused about settlement and its differences: codes and sentences, as in `refusal.ts`.

export const SETTLEMENT_REFUSALS = {
  settlement_file_without_header: ({ path, columns }: { path: string; columns: string }) =>
    `the first line of ${path} must be ${columns}`,
  acquirer_not_known: ({ acquirer, known }: { acquirer: string; known: readonly string[] }) =>
    `there is no acquirer ${named(acquirer)}; known are: ${known.join(', ')}`,
  difference_not_found: ({ difference }: { difference: number }) => `there is no difference ${difference}`,
  difference_looked_at: ({ difference, by }: { difference: number; by: string }) =>
    `${by} has looked at difference ${difference} already`,
  differences_not_named: () => 'name one difference, or a day and an acquirer',
  no_differences_open: ({ date, acquirer }: { date: string; acquirer: string }) =>
    `no difference of ${date} is open for the acquirer ${named(acquirer)}`,
  differences_changed: ({ open, expected }: { open: number; expected: number }) =>
    `${open} differences are open now, not ${expected}: look at them again`,
} as const;

/** An empty name would not be seen. */
export function named(acquirer: string): string {
  return acquirer === '' ? "''" : acquirer;
}
