// Unfinished transactions at the end of the demo's history: payments in doubt, and direct debits that wait for the bank. The
// gateway continues them like any others.
import { settlementCutOff } from '../values/time.js';
import { Chance } from './chance.js';
import { feeAt } from './debits.js';
import { become, begin, type Draft } from './draft.js';
import { cardBy } from './people.js';
import { FEES, SHOPS, type Shop } from './shops.js';
import type { Window } from './windows.js';

const MINUTE_MS = 60_000;
const DOUBTS_MINUTES_AGO = [47, 12];
const DEBITS = 18;
/** Long enough to look at, unless an operator has the acquirer asked. */
const NEXT_ATTEMPT_MS = 6 * 60 * MINUTE_MS;
const ATTEMPTS = 4;

/** In the open settlement day. */
export function unfinishedTransactions({ day, opensMs }: Window, nowMs: number): Draft[] {
  const chance = new Chance(`under way/${nowMs}`);
  const ago = (minutes: number) => Math.max(opensMs + 1, nowMs - minutes * MINUTE_MS);
  const shop = SHOPS[0] as Shop;
  const doubts = DOUBTS_MINUTES_AGO.map((minutes, place) =>
    doubt(chance, shop, ago(minutes), nowMs, place === 0),
  );
  const gym = SHOPS.find(({ kind }) => kind === FEES.kind) as Shop;
  const closesMs = settlementCutOff(day);
  const debits = Array.from({ length: DEBITS }, (_, number) => {
    const { draft } = feeAt(chance, gym, ago(35) + number * 900);
    draft.voidableUntilMs = closesMs;
    draft.item = { day, state: 'waiting', nextMs: closesMs };
    return draft;
  });
  return [...doubts, ...debits].sort((one, other) => one.createdMs - other.createdMs);
}

/** If known, the acquirer has approved it; otherwise the acquirer never saw it. */
function doubt(chance: Chance, shop: Shop, createdMs: number, nowMs: number, known: boolean): Draft {
  const amountCents = chance.amount(shop.middleCents, shop.spread);
  const draft = begin(chance, {
    shop,
    type: 'purchase',
    createdMs,
    amountCents,
    method: { kind: 'card', card: cardBy(chance) },
  });
  if (known) Object.assign(draft, { responseCode: '00', authorisationCode: chance.digits(6) });
  draft.resolveAttempts = ATTEMPTS;
  draft.resolveAtMs = nowMs + NEXT_ATTEMPT_MS;
  become(draft, 'unknown', createdMs + 10_000);
  return draft;
}
