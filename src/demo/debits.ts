// Direct debits in the demo's history: members' fees, collected through the simulated bank, which returns some.
import { DEFAULT_CLEARING_DAYS } from '../directdebit/direct-entry.js';
import { RETURN_MEANINGS } from '../directdebit/returns.js';
import { CLEARED } from '../payments/transaction.js';
import { addBusinessDays, settlementCutOff, settlementDay } from '../values/time.js';
import { Chance } from './chance.js';
import { become, begin, type Draft } from './draft.js';
import { personOf, returnedAccount } from './people.js';
import { FEES, RETURNED, RETURNS, type Shop } from './shops.js';
import { hourIn, isOpen, type Wanted, type Window } from './windows.js';

const HOUR_MS = 3_600_000;
/** The simulated bank returns an item on the business day after the file's. */
const RETURNED_AFTER_DAYS = 1;

export function* collectFees(shop: Shop, window: Window, wanted: Wanted): Generator<Draft> {
  if (shop.kind !== FEES.kind) return;
  for (let hourMs = window.opensMs; hourMs < window.closesMs; hourMs += HOUR_MS) {
    const { weekday, hour } = hourIn(hourMs);
    if (hour !== FEES.hour || !FEES.weekdays.some((day) => day === weekday)) continue;
    for (let number = 0; number < FEES.count; number += 1) {
      const chance = new Chance(`fee/${window.day}/${number}`);
      const createdMs = hourMs + number * 700 + chance.between(0, 600);
      if (createdMs < window.fromMs || !isOpen(wanted, createdMs)) continue;
      const { draft, code } = feeAt(chance, shop, createdMs);
      if (goThroughBank(draft, window.day, code, wanted)) yield draft;
    }
  }
}

/** One fee at its start; `code` is the bank's future return code. */
export function feeAt(
  chance: Chance,
  shop: Shop,
  createdMs: number,
): { draft: Draft; code: number | undefined } {
  const member = chance.between(1, shop.customers);
  const person = personOf(shop.kind, member);
  const code = chance.happens(RETURNED) ? chance.weighted(RETURNS) : undefined;
  const account = code === undefined ? person.account : returnedAccount(person, code);
  const draft = begin(chance, {
    shop,
    type: 'purchase',
    createdMs,
    amountCents: chance.one(FEES.amounts),
    method: { kind: 'bank_account', account, member },
  });
  draft.gatewayStatusCode = 0;
  become(draft, 'pending', createdMs + 20);
  return { draft, code };
}

/** False if any of its events would fall outside the part being filled, or in the future. */
function goThroughBank(draft: Draft, day: string, code: number | undefined, wanted: Wanted): boolean {
  draft.settlementDate = day;
  const days = code === undefined ? DEFAULT_CLEARING_DAYS : RETURNED_AFTER_DAYS;
  const endsMs = settlementCutOff(addBusinessDays(day, days));
  if (!isOpen(wanted, endsMs)) return false;
  if (code !== undefined) {
    draft.item = { day, state: 'returned', returnCode: code };
    draft.responseCode = String(code);
    draft.responseMessage = RETURN_MEANINGS[code] ?? 'Returned';
    become(draft, 'declined', endsMs, 'directdebit.returned');
    return true;
  }
  draft.item = { day, state: 'cleared' };
  Object.assign(draft, CLEARED);
  become(draft, 'approved', endsMs);
  draft.settles.push({ day: settlementDay(endsMs), type: 'purchase', cents: draft.amountCents });
  return true;
}
