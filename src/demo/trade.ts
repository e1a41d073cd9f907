// The trade of the demo's history: plausible days of three merchants, generated from seeds. It follows the gateway's rules:
// when amounts settle, what a void undoes, how a direct debit proceeds.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { responseMessage } from '../acquirers/simulator/simulator.js';
import { Chance } from './chance.js';
import { collectFees } from './debits.js';
import { become, begin, type Draft, type DraftMethod } from './draft.js';
import { cardBy, personOf } from './people.js';
import {
  DECLINED,
  DECLINES,
  DOUBTED,
  FAILED,
  NOT_SENT,
  REFUNDED,
  SHOPS,
  type Shop,
  VOIDED,
} from './shops.js';
import { BEFORE_CLOSE_MS, dayAt, hourIn, isOpen, type Wanted, type Window } from './windows.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** In the order of creation. */
export async function tradeIn(wanted: Wanted): Promise<Draft[]> {
  const drafts: Draft[] = [];
  for (const window of wanted.windows) {
    for (const shop of SHOPS)
      drafts.push(...dayOf(shop, window, wanted), ...collectFees(shop, window, wanted));
    // A payment that arrives meanwhile does not wait for all of them.
    await yieldToOthers();
  }
  return drafts.sort((one, other) => one.createdMs - other.createdMs);
}

function* dayOf(shop: Shop, window: Window, wanted: Wanted): Generator<Draft> {
  const chance = new Chance(`${shop.kind}/${window.day}`);
  for (let hourMs = window.opensMs; hourMs < window.closesMs; hourMs += HOUR_MS) {
    const { weekday, hour } = hourIn(hourMs);
    const average = (shop.hours[hour] ?? 0) * (shop.weekdays[weekday] ?? 1) * (0.75 + chance.next() * 0.5);
    for (let left = chance.count(average); left > 0; left -= 1) {
      const atMs = Math.floor(hourMs + chance.next() * HOUR_MS);
      // Generated even if unwanted: later ones must not depend on where the filling starts.
      const story = [
        ...payment(new Chance(`${shop.kind}/${window.day}/${chance.next()}`), shop, atMs, wanted),
      ];
      if (atMs >= window.fromMs && isOpen(wanted, atMs)) yield* story;
    }
  }
}

function* payment(chance: Chance, shop: Shop, createdMs: number, wanted: Wanted): Generator<Draft> {
  const type = chance.happens(shop.held) ? 'preauthorisation' : 'purchase';
  const amountCents = chance.amount(
    type === 'purchase' ? shop.middleCents : shop.middleCents * 3,
    shop.spread,
  );
  const draft = begin(chance, { shop, type, createdMs, amountCents, method: methodOf(chance, shop) });
  yield draft;
  answer(chance, draft, wanted);
  if (draft.status !== 'approved') return;
  if (type === 'preauthorisation') yield* afterHold(chance, draft, wanted);
  else yield* afterPayment(chance, draft, wanted);
}

export function methodOf(chance: Chance, shop: Shop): DraftMethod {
  if (!chance.happens(shop.stored)) return { kind: 'card', card: cardBy(chance) };
  const member = chance.between(1, shop.customers);
  return { kind: 'card', card: personOf(shop.kind, member).card, member };
}

/** The acquirer's answer, and how long it took. */
function answer(chance: Chance, draft: Draft, wanted: Wanted): void {
  const atMs = draft.createdMs + chance.between(90, 900);
  if (chance.happens(NOT_SENT)) {
    draft.gatewayStatusCode = 1;
    become(draft, 'error', draft.createdMs + 15);
  } else if (chance.happens(FAILED)) {
    draft.gatewayStatusCode = 3;
    say(draft, '96');
    become(draft, 'error', atMs);
  } else if (chance.happens(DECLINED)) {
    draft.gatewayStatusCode = 0;
    say(draft, chance.weighted(DECLINES));
    become(draft, 'declined', atMs);
  } else if (chance.happens(DOUBTED)) {
    become(draft, 'unknown', draft.createdMs + 10_000);
    draft.resolveAttempts = 1;
    const foundMs = draft.createdMs + chance.between(11_000, 14_000);
    if (chance.happens(0.7)) approve(chance, draft, foundMs, wanted);
    else {
      draft.gatewayStatusCode = 2;
      become(draft, 'error', foundMs);
    }
  } else approve(chance, draft, atMs, wanted);
}

function say(draft: Draft, code: string): void {
  draft.responseCode = code;
  draft.responseMessage = responseMessage(code);
}

function approve(chance: Chance, draft: Draft, atMs: number, wanted: Wanted): void {
  const { type, amountCents, target, createdMs } = draft;
  const { day, closesMs } = dayAt(wanted, atMs);
  draft.gatewayStatusCode = 0;
  say(draft, '00');
  draft.authorisationCode = chance.digits(6);
  draft.settlementDate = day;
  if (type === 'preauthorisation') draft.completableUntilMs = createdMs + 7 * DAY_MS;
  draft.voidableUntilMs = draft.completableUntilMs ?? closesMs;
  become(draft, 'approved', atMs);
  if (type === 'purchase' || type === 'completion') draft.settles.push({ day, type, cents: amountCents });
  if (type === 'refund') draft.settles.push({ day, type, cents: -amountCents });
  if (type === 'void' && target !== undefined && target.type !== 'preauthorisation')
    draft.settles.push({ day, type, cents: -amountCents });
}

/** An operation on an earlier transaction, if it can happen then. */
function follow(
  chance: Chance,
  wanted: Wanted,
  type: 'completion' | 'refund' | 'void',
  target: Draft,
  { atMs, amountCents = target.amountCents }: { readonly atMs: number; readonly amountCents?: number },
): Draft | undefined {
  if (!isOpen(wanted, atMs)) return undefined;
  const { shop, method } = target;
  return begin(chance, { shop, type, createdMs: atMs, amountCents, method, target });
}

function* afterPayment(chance: Chance, draft: Draft, wanted: Wanted): Generator<Draft> {
  const { createdMs, amountCents, voidableUntilMs = 0 } = draft;
  if (chance.happens(VOIDED)) {
    const atMs = createdMs + chance.between(2, 90) * 60_000;
    if (atMs < voidableUntilMs - BEFORE_CLOSE_MS) yield* voided(chance, draft, wanted, atMs);
    return;
  }
  if (!chance.happens(REFUNDED)) return;
  const atMs = createdMs + chance.between(4, 9 * 24) * HOUR_MS;
  const part = chance.happens(0.6) ? amountCents : Math.max(100, Math.round(amountCents * chance.next()));
  const refund = follow(chance, wanted, 'refund', draft, { atMs, amountCents: Math.min(part, amountCents) });
  if (refund === undefined) return;
  if (chance.happens(0.03)) {
    refund.gatewayStatusCode = 0;
    say(refund, '05');
    become(refund, 'declined', atMs + 300);
  } else {
    approve(chance, refund, atMs + chance.between(90, 700), wanted);
    draft.refundedCents += refund.amountCents;
  }
  yield refund;
}

function* voided(chance: Chance, draft: Draft, wanted: Wanted, atMs: number): Generator<Draft> {
  const undoing = follow(chance, wanted, 'void', draft, { atMs });
  if (undoing === undefined) return;
  const doneMs = atMs + chance.between(90, 700);
  approve(chance, undoing, doneMs, wanted);
  draft.voidedBy = undoing;
  become(draft, 'voided', doneMs);
  yield undoing;
}

/** A departing guest pays; the hold of a guest who never came is voided. */
function* afterHold(chance: Chance, hold: Draft, wanted: Wanted): Generator<Draft> {
  const atMs = hold.createdMs + chance.between(14, 80) * HOUR_MS;
  if (chance.happens(0.09)) return yield* voided(chance, hold, wanted, atMs);
  if (!chance.happens(0.93)) return;
  const amountCents = chance.happens(0.7)
    ? hold.amountCents
    : Math.round(hold.amountCents * (0.5 + chance.next() / 2));
  const completion = follow(chance, wanted, 'completion', hold, { atMs, amountCents });
  if (completion === undefined) return;
  approve(chance, completion, atMs + chance.between(90, 900), wanted);
  hold.completedBy = completion;
  yield completion;
}
