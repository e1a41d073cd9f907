// What a history must be like by itself, without any search for an order: statuses move one way only, whoever looks; amounts fit; a
// correlation ID has one transaction; what was said not to be there is never processed; and no answer turns out to be untrue.
import type { Json } from '../../testkit/bodies.js';
import type { Broken } from '../arena/verdict.js';
import { CREATING, type Recorded, type Shown } from './record.js';

/** What may be seen after what. */
const AFTER: Readonly<Record<string, readonly string[]>> = {
  unknown: ['unknown', 'approved', 'declined', 'error', 'voided'],
  approved: ['approved', 'voided'],
  declined: ['declined'],
  error: ['error'],
  voided: ['voided'],
};
/** Nothing was sent to the acquirer. */
const NOT_SENT = 1;
/** The outcome is not known, but there is a transaction. */
const IN_DOUBT = [502, 504];

interface Sight {
  readonly sentMs: number;
  readonly endMs: number;
  readonly shown: Shown;
}

export function mayFollow(before: string, after: string): boolean {
  return AFTER[before]?.includes(after) ?? false;
}

export function brokenPromises(history: readonly Recorded[], events: readonly Json[]): Broken {
  const sights = sightsByAudit(history);
  const last = new Map([...sights].map(([audit, of]) => [audit, (of.at(-1) as Sight).shown]));
  return {
    'what was seen decided is never seen otherwise': [...sights.values()].flatMap(seenOtherwise),
    'amounts fit': wrongAmounts([...last.values()]),
    'a void is approved exactly if its target is voided': wrongVoids(last),
    'a correlation ID has one transaction': wrongHolders(history),
    'what was said not to be there is never processed': processedAfterAll(history, last),
    'what was answered turns out to be true': untrueAnswers(history, last),
    'events tell of allowed ways, in order': wrongEvents(events),
  };
}

/** In the order of their ends. */
function sightsByAudit(history: readonly Recorded[]): Map<number, Sight[]> {
  const sights = new Map<number, Sight[]>();
  for (const { sentMs, endMs, shown = [] } of [...history].sort((one, other) => one.endMs - other.endMs)) {
    for (const one of shown) {
      sights.set(one.audit, [...(sights.get(one.audit) ?? []), { sentMs, endMs, shown: one }]);
    }
  }
  return sights;
}

function seenOtherwise(sights: readonly Sight[]): string[] {
  const found = new Set<string>();
  for (const [place, later] of sights.entries()) {
    for (const earlier of sights.slice(0, place)) {
      if (earlier.endMs >= later.sentMs) continue;
      const { audit } = later.shown;
      const [before, after] = [earlier.shown, later.shown];
      if (!mayFollow(before.status, after.status))
        found.add(`audit ${audit}: ${before.status}, later ${after.status}`);
      if (before.status !== 'unknown' && before.gatewayCode !== after.gatewayCode)
        found.add(`audit ${audit}: code ${before.gatewayCode}, later ${after.gatewayCode}`);
      for (const fact of ['type', 'reference', 'amountCents', 'targetAudit'] as const) {
        if (before[fact] !== undefined && after[fact] !== undefined && before[fact] !== after[fact])
          found.add(`audit ${audit}: ${fact} ${before[fact]}, later ${after[fact]}`);
      }
    }
  }
  return [...found];
}

function wrongAmounts(all: readonly Shown[]): string[] {
  return all.flatMap((target) => {
    const standing = (type: string) =>
      all.filter((one) => one.targetAudit === target.audit && one.type === type && one.status === 'approved');
    const refundedCents = standing('refund').reduce((sum, { amountCents = 0 }) => sum + amountCents, 0);
    const completions = standing('completion');
    const completedCents = completions.reduce((sum, { amountCents = 0 }) => sum + amountCents, 0);
    const ownCents = target.amountCents ?? 0;
    const leftCents = ownCents - refundedCents;
    const wrong = (what: string) => `audit ${target.audit}, ${target.status}: ${what}`;
    const isRefundable = ['purchase', 'completion'].includes(target.type) && target.status === 'approved';
    return [
      ...(leftCents < 0 ? [wrong(`${refundedCents} refunded of ${ownCents}`)] : []),
      ...(completedCents > ownCents ? [wrong(`${completedCents} completed`)] : []),
      ...(completions.length > 1 ? [wrong(`completed ${completions.length} times`)] : []),
      ...(refundedCents + completedCents > 0 && target.status !== 'approved'
        ? [wrong('something stands on it')]
        : []),
      ...(isRefundable && (target.refundableCents ?? 0) !== leftCents
        ? [wrong(`shows ${target.refundableCents} to refund, and has ${leftCents}`)]
        : []),
    ];
  });
}

function wrongVoids(last: ReadonlyMap<number, Shown>): string[] {
  const voids = new Map<number, number>();
  for (const { type, status, targetAudit = 0 } of last.values()) {
    if (type === 'void' && status === 'approved') voids.set(targetAudit, (voids.get(targetAudit) ?? 0) + 1);
  }
  return [...last.values()]
    .filter(({ audit, status }) => (voids.get(audit) ?? 0) !== (status === 'voided' ? 1 : 0))
    .map(({ audit, status }) => `audit ${audit} is ${status}, after ${voids.get(audit) ?? 0} voids`);
}

/** Look-ups have none that matters. */
function byCorrelationId(history: readonly Recorded[]): Map<string, Recorded[]> {
  const groups = new Map<string, Recorded[]>();
  for (const one of history) {
    if (one.kind === 'lookup') continue;
    const group = groups.get(one.correlationId);
    if (group === undefined) groups.set(one.correlationId, [one]);
    else group.push(one);
  }
  return groups;
}

const isCreating = ({ kind }: Recorded) => CREATING.includes(kind);

/** Which audits answers name as those of a correlation ID. */
function namedHolders({ kind, status = 0, audit, shown = [] }: Recorded): number[] {
  if (kind === 'lookup') return [];
  if (kind === 'search') return shown.map((one) => one.audit);
  return audit !== undefined && [201, 409, ...IN_DOUBT].includes(status) ? [audit] : [];
}

function wrongHolders(history: readonly Recorded[]): string[] {
  const requests = new Map(history.flatMap((one) => (one.reference ? [[one.reference, one] as const] : [])));
  return [...byCorrelationId(history)].flatMap(([id, of]) => {
    const holders = new Set(of.flatMap(namedHolders));
    const wrong: string[] = [];
    if (holders.size > 1) wrong.push(`${id}: audits ${[...holders].join(', ')}`);
    const winners = of.filter((one) => isCreating(one) && [201, ...IN_DOUBT].includes(one.status ?? 0));
    if (winners.length > 1) wrong.push(`${id}: ${winners.length} requests created a transaction`);
    const reference = of.flatMap(({ shown = [] }) => shown)[0]?.reference;
    const winner = reference === undefined ? undefined : requests.get(reference);
    for (const one of of) {
      if (one.status !== 409) continue;
      if (winner === undefined) wrong.push(`${id}: 409, and there is no transaction`);
      else if (winner === one) wrong.push(`${id}: 409 to the request that has won it`);
      else if (winner.sentMs > one.endMs) wrong.push(`${id}: 409 before the winner was sent`);
    }
    return wrong;
  });
}

function processedAfterAll(history: readonly Recorded[], last: ReadonlyMap<number, Shown>): string[] {
  return [...byCorrelationId(history)].flatMap(([id, of]) => {
    const found = of.filter(({ shown = [] }) => shown.length > 0);
    const reference = found[0]?.shown?.[0]?.reference;
    const request = of.find((one) => reference !== undefined && one.reference === reference);
    const audit = found[0]?.shown?.[0]?.audit ?? 0;
    const { status, gatewayCode } = last.get(audit) ?? {};
    return of
      .filter(({ kind, shown }) => kind === 'search' && shown?.length === 0)
      .flatMap((empty) => {
        const wasFound = of.find(
          (one) => namedHolders(one).length > 0 && one.endMs < empty.sentMs && one !== empty,
        );
        if (wasFound !== undefined) return [`${id}: audit ${audit} was there, and then not found`];
        const isLate = request?.leftMs !== undefined && request.leftMs < empty.sentMs;
        // A row that says that nothing was sent is no harm.
        const isHarmless = status === 'error' && gatewayCode === NOT_SENT;
        return isLate && !isHarmless ? [`${id}: not found, and later audit ${audit} ${status}`] : [];
      });
  });
}

function untrueAnswers(history: readonly Recorded[], last: ReadonlyMap<number, Shown>): string[] {
  const references = new Map([...last.values()].map((one) => [one.reference, one]));
  return history.flatMap((one) => {
    const { kind, status, code, reference = '', audit, targetAudit = 0, sentMs } = one;
    const said = `${kind} ${reference || targetAudit}: ${status} ${code ?? ''}`;
    if (status === 500) return [said];
    if (kind === 'lookup' && status === 404 && last.has(targetAudit)) {
      const seen = history.some(({ endMs, shown = [] }) => endMs < sentMs && shown[0]?.audit === targetAudit);
      return seen ? [`${said}, and it had been seen`] : [];
    }
    if (!isCreating(one) || status === undefined) return [];
    if (status === 201 || IN_DOUBT.includes(status)) {
      const found = last.get(audit ?? 0);
      if (found?.reference !== reference) return [`${said}, audit ${audit} is ${found?.reference}`];
      return found.amountCents === (one.amountCents ?? found.amountCents) ? [] : [`${said}: another amount`];
    }
    const made = references.get(reference);
    return made === undefined ? [] : [`${said}, and there is audit ${made.audit} ${made.status}`];
  });
}

function wrongEvents(events: readonly Json[]): string[] {
  const told = new Map<string, { version: number; status: string }>();
  return events.flatMap((event) => {
    const [, , kind, subject] = event.id.split('_');
    if (kind !== 'transaction') return [];
    const status = event.type.replace('transaction.', '');
    const before = told.get(subject);
    told.set(subject, { version: event.version, status });
    const wrong: string[] = [];
    if (event.version !== (before?.version ?? 0) + 1)
      wrong.push(`audit ${subject}: version ${event.version} after ${before?.version ?? 0}`);
    if (before !== undefined && (before.status === status || !mayFollow(before.status, status)))
      wrong.push(`audit ${subject}: ${before.status}, then ${status}`);
    return wrong;
  });
}
