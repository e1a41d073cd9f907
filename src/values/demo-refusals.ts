// What an operator can be refused about the demo: codes and sentences, as in `refusal.ts`.

export const DEMO_REFUSALS = {
  demo_absent: () =>
    'this is no demo: only an installation that `serve` has made as one is filled with made-up trade',
  demo_has_live_merchants: () =>
    'there is a live merchant here: made-up trade has no place beside real payments',
} as const;
