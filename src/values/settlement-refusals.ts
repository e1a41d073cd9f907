// What an operator can be refused about the differences of settlement: codes and sentences, as in `refusal.ts`.

export const SETTLEMENT_REFUSALS = {
  difference_not_found: ({ difference }: { difference: number }) => `there is no difference ${difference}`,
  difference_looked_at: ({ difference, by }: { difference: number; by: string }) =>
    `${by} has looked at difference ${difference} already`,
} as const;
