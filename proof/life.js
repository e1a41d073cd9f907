// A small model of the life of a transaction, and the question whether answers that came at the same time are those that
// some order of the operations gives.
//
// An operation that is accepted happens in two moments: it is claimed, and its amount with it; later its outcome settles.
// One that is refused happens in one moment, in which the target has to be one that refuses it for that reason.

/** @typedef {Map<number, object>} State transactions by audit */

const NOTHING_YET = { refundedCents: 0, completedBy: undefined, voidedBy: undefined };

/** A family of transactions that begins with an approved purchase or preauthorisation. */
export function born(audit, type, amountCents) {
  return new Map([[audit, { audit, type, amountCents, status: 'approved', ...NOTHING_YET }]]);
}

export function refundableCents({ type, status, amountCents, refundedCents, voidedBy }) {
  const leftCents = amountCents - refundedCents;
  const open = ['purchase', 'completion'].includes(type) && status === 'approved' && voidedBy === undefined;
  return open && leftCents > 0 ? leftCents : undefined;
}

export function completableCents({ type, status, amountCents, completedBy, voidedBy }) {
  const open = type === 'preauthorisation' && status === 'approved';
  return open && completedBy === undefined && voidedBy === undefined ? amountCents : undefined;
}

export function isVoidable({ type, status, refundedCents, completedBy, voidedBy }) {
  const untouched = refundedCents === 0 && completedBy === undefined && voidedBy === undefined;
  return type !== 'void' && status === 'approved' && untouched;
}

/** The error code with which the target refuses, or undefined. */
export function refusalOf(state, { kind, targetAudit, amountCents }) {
  const target = state.get(targetAudit);
  if (target === undefined) return 'transaction_not_found';
  switch (kind) {
    case 'completion': {
      const leftCents = completableCents(target);
      if (leftCents === undefined) return 'target_not_completable';
      return amountCents > leftCents ? 'completion_exceeds_preauthorisation' : undefined;
    }
    case 'refund': {
      const leftCents = refundableCents(target);
      const usedUp = target.status === 'approved' && target.refundedCents === target.amountCents;
      if (leftCents === undefined) return usedUp ? 'refund_exceeds_original' : 'target_not_refundable';
      return amountCents > leftCents ? 'refund_exceeds_original' : undefined;
    }
    case 'void':
      return isVoidable(target) ? undefined : 'target_not_voidable';
    default:
      throw new Error(`the model knows no ${kind}`);
  }
}

/** After an operation was accepted: it is there, undecided, and holds what it needs of its target. */
export function claimed(state, { kind, targetAudit, amountCents }, audit) {
  const target = state.get(targetAudit);
  const next = changed(state, targetAudit, {
    ...(kind === 'refund' && { refundedCents: target.refundedCents + amountCents }),
    ...(kind === 'completion' && { completedBy: audit }),
    ...(kind === 'void' && { voidedBy: audit }),
  });
  return next.set(audit, {
    audit,
    type: kind,
    amountCents: amountCents ?? target.amountCents,
    targetAudit,
    status: 'unknown',
    ...NOTHING_YET,
  });
}

/** After its outcome: what did not happen holds nothing, and what was voided gives back what it held. */
export function settled(state, audit, outcome) {
  const operation = state.get(audit);
  const next = changed(state, audit, { status: outcome });
  if (outcome !== 'approved') return released(next, operation);
  if (operation.type !== 'void') return next;
  const undone = next.get(operation.targetAudit);
  return released(changed(next, undone.audit, { status: 'voided' }), undone);
}

function released(state, { type, targetAudit, amountCents }) {
  if (targetAudit === undefined) return state;
  const { refundedCents } = state.get(targetAudit);
  return changed(state, targetAudit, {
    ...(type === 'refund' && { refundedCents: refundedCents - amountCents }),
    ...(type === 'completion' && { completedBy: undefined }),
    ...(type === 'void' && { voidedBy: undefined }),
  });
}

function changed(state, audit, change) {
  return new Map(state).set(audit, { ...state.get(audit), ...change });
}

/**
 * @typedef {object} Happening an operation and what was answered
 * @property {{ kind: string, targetAudit: number, amountCents?: number }} operation
 * @property {number} sentMs
 * @property {number} answeredMs
 * @property {string} [refused] the error code
 * @property {number} [audit] of one that was accepted
 * @property {string} [outcome] of one that was accepted
 * @property {boolean} [doubtful] it was answered before its outcome was known
 */

const [WAITING, HOLDING, DONE] = [0, 1, 2];

/**
 * The state after everything, if there is an order of the moments that the model allows and that keeps to what was
 * before what: an operation that was sent after another was answered comes after it. Undefined if there is none.
 * @param {State} initial
 * @param {Happening[]} happenings
 */
export function explained(initial, happenings) {
  const before = happenings.map(({ sentMs }) =>
    happenings.flatMap(({ answeredMs }, index) => (answeredMs < sentMs ? [index] : [])),
  );
  // What has happened so far decides the state, whatever the order: no progress is looked at twice.
  const seen = new Set();
  const visit = (state, progress) => {
    if (progress.every((stage) => stage === DONE)) return state;
    const key = progress.join('');
    if (seen.has(key)) return undefined;
    seen.add(key);
    for (const [index, happening] of happenings.entries()) {
      const next = nextState(state, happening, progress[index], () =>
        before[index].every((other) => progress[other] >= (happenings[other].doubtful ? HOLDING : DONE)),
      );
      if (next === undefined) continue;
      const found = visit(next.state, progress.with(index, next.stage));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return visit(
    initial,
    happenings.map(() => WAITING),
  );
}

function nextState(state, { operation, audit, outcome, refused }, stage, mayBegin) {
  if (stage === DONE) return undefined;
  if (stage === HOLDING) return { state: settled(state, audit, outcome), stage: DONE };
  if (!mayBegin()) return undefined;
  // Nothing is claimed about when a gateway that is too busy says so.
  if (refused === 'not_processed') return { state, stage: DONE };
  const refusal = refusalOf(state, operation);
  if (refused !== undefined) return refusal === refused ? { state, stage: DONE } : undefined;
  return refusal === undefined ? { state: claimed(state, operation, audit), stage: HOLDING } : undefined;
}
