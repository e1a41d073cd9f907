// A small model of the life of a transaction, and the question whether answers that came at the same time are those that
// some order of the operations gives.
//
// An operation that is accepted happens in two moments: it is claimed, and its amount with it; later its outcome settles.
// One that is refused happens in one moment, in which the target has to be one that refuses it for that reason.

/** A transaction as the model knows it. */
export interface Life {
  readonly audit: number;
  readonly type: string;
  readonly amountCents: number;
  readonly targetAudit?: number;
  readonly status: string;
  readonly refundedCents: number;
  readonly completedBy: number | undefined;
  readonly voidedBy: number | undefined;
}

/** Transactions by audit. */
export type State = ReadonlyMap<number, Life>;

export type OperationKind = 'refund' | 'completion' | 'void';

export interface Operation {
  readonly kind: OperationKind;
  readonly targetAudit: number;
  /** A void has none. */
  readonly amountCents?: number | undefined;
}

/** An operation and what was answered. */
export interface Happening {
  readonly operation: Operation;
  readonly sentMs: number;
  readonly answeredMs: number;
  /** The error code. */
  readonly refused?: string | undefined;
  /** Of one that was accepted. */
  readonly audit?: number | undefined;
  /** Of one that was accepted. */
  readonly outcome?: string | undefined;
  /** It was answered before its outcome was known. */
  readonly doubtful?: boolean | undefined;
}

const NOTHING_YET = { refundedCents: 0, completedBy: undefined, voidedBy: undefined };

/** A family of transactions that begins with an approved purchase or preauthorisation. */
export function born(audit: number, type: string, amountCents: number): State {
  return new Map([[audit, { audit, type, amountCents, status: 'approved', ...NOTHING_YET }]]);
}

export function refundableCents({
  type,
  status,
  amountCents,
  refundedCents,
  voidedBy,
}: Life): number | undefined {
  const leftCents = amountCents - refundedCents;
  const open = ['purchase', 'completion'].includes(type) && status === 'approved' && voidedBy === undefined;
  return open && leftCents > 0 ? leftCents : undefined;
}

export function completableCents({
  type,
  status,
  amountCents,
  completedBy,
  voidedBy,
}: Life): number | undefined {
  const open = type === 'preauthorisation' && status === 'approved';
  return open && completedBy === undefined && voidedBy === undefined ? amountCents : undefined;
}

export function isVoidable({ type, status, refundedCents, completedBy, voidedBy }: Life): boolean {
  const untouched = refundedCents === 0 && completedBy === undefined && voidedBy === undefined;
  return type !== 'void' && status === 'approved' && untouched;
}

/** The error code with which the target refuses, or undefined. */
export function refusalOf(
  state: State,
  { kind, targetAudit, amountCents = 0 }: Operation,
): string | undefined {
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
  }
}

/** After an operation was accepted: it is there, in doubt, and holds what it needs of its target. */
export function claimed(state: State, { kind, targetAudit, amountCents }: Operation, audit: number): State {
  const target = lifeIn(state, targetAudit);
  const next = changed(state, targetAudit, {
    ...(kind === 'refund' && { refundedCents: target.refundedCents + (amountCents ?? 0) }),
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
export function settled(state: State, audit: number, outcome: string): State {
  const operation = lifeIn(state, audit);
  const next = changed(state, audit, { status: outcome });
  if (outcome !== 'approved') return released(next, operation);
  if (operation.type !== 'void' || operation.targetAudit === undefined) return next;
  const undone = lifeIn(next, operation.targetAudit);
  return released(changed(next, undone.audit, { status: 'voided' }), undone);
}

function released(state: State, { type, targetAudit, amountCents }: Life): State {
  if (targetAudit === undefined) return state;
  const { refundedCents } = lifeIn(state, targetAudit);
  return changed(state, targetAudit, {
    ...(type === 'refund' && { refundedCents: refundedCents - amountCents }),
    ...(type === 'completion' && { completedBy: undefined }),
    ...(type === 'void' && { voidedBy: undefined }),
  });
}

function changed(state: State, audit: number, change: Partial<Life>): Map<number, Life> {
  return new Map(state).set(audit, { ...lifeIn(state, audit), ...change });
}

function lifeIn(state: State, audit: number): Life {
  const life = state.get(audit);
  if (life === undefined) throw new Error(`the model knows no audit ${audit}`);
  return life;
}

const WAITING = 0;
const HOLDING = 1;
const DONE = 2;
type Stage = typeof WAITING | typeof HOLDING | typeof DONE;

/**
 * The state after everything, if there is an order of the moments that the model allows and that keeps to what was
 * before what: an operation that was sent after another was answered comes after it. Undefined if there is none.
 */
export function explained(initial: State, happenings: readonly Happening[]): State | undefined {
  const before = happenings.map(({ sentMs }) =>
    happenings.flatMap(({ answeredMs }, index) => (answeredMs < sentMs ? [index] : [])),
  );
  // What has happened so far decides the state, whatever the order: no progress is looked at twice.
  const seen = new Set<string>();
  const visit = (state: State, progress: readonly Stage[]): State | undefined => {
    if (progress.every((stage) => stage === DONE)) return state;
    const key = progress.join('');
    if (seen.has(key)) return undefined;
    seen.add(key);
    for (const [index, happening] of happenings.entries()) {
      const isOver = (other: number) =>
        (progress[other] ?? WAITING) >= (happenings[other]?.doubtful ? HOLDING : DONE);
      const mayBegin = () => before[index]?.every(isOver) ?? true;
      const next = nextState(state, happening, progress[index] ?? WAITING, mayBegin);
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

function nextState(
  state: State,
  { operation, audit = 0, outcome = '', refused }: Happening,
  stage: Stage,
  mayBegin: () => boolean,
): { state: State; stage: Stage } | undefined {
  if (stage === DONE) return undefined;
  if (stage === HOLDING) return { state: settled(state, audit, outcome), stage: DONE };
  if (!mayBegin()) return undefined;
  // Nothing is claimed about when a gateway that is too busy says so.
  if (refused === 'not_processed') return { state, stage: DONE };
  const refusal = refusalOf(state, operation);
  if (refused !== undefined) return refusal === refused ? { state, stage: DONE } : undefined;
  return refusal === undefined ? { state: claimed(state, operation, audit), stage: HOLDING } : undefined;
}
