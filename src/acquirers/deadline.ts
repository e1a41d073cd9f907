// How long a link is waited for, and what is made of one that fails or says what no contract allows: here, and nowhere else.
import type { AcquirerLink, Answer, Finding, Order, Prepared, Reversal, StoredOrder } from './contract.js';

const NOT_SENT: Answer = { kind: 'not_sent' };
const ANSWERS: ReadonlySet<unknown> = new Set<Answer['kind']>([
  'approved',
  'declined',
  'faulty',
  'pending',
  'not_sent',
  'unknown',
]);
const FINDINGS: ReadonlySet<unknown> = new Set<Finding['kind']>([
  'approved',
  'declined',
  'faulty',
  'pending',
  'not_seen',
  'no_answer',
]);

export interface UnderDeadline<Asked> {
  readonly deadlineMs: number;
  /** Whether the order is still this process's to send. */
  readonly maySend: (asked: Asked) => boolean;
  /** Told what is answered after the deadline. */
  readonly onLate: (asked: Asked, answer: Answer) => void;
}

/** Asks once, and waits no longer than the deadline. Nothing is sent after it. */
export function askUnderDeadline<Asked extends { readonly order: Order; readonly prepared: Prepared }>(
  link: AcquirerLink,
  asked: Asked,
  { deadlineMs, maySend, onLate }: UnderDeadline<Asked>,
): Promise<Answer> {
  return new Promise((resolve) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      // guard(doubt: silence is no decline): unknown', reason: 'timeout ⇒ declined', responseCode: '05', responseMessage: '
      resolve({ kind: 'unknown', reason: 'timeout' } satisfies Answer);
    }, deadlineMs);
    const inTime = () => !late && maySend(asked);
    begin(() => (inTime() ? link.ask(asked.order, asked.prepared, inTime) : Promise.resolve(NOT_SENT))).then(
      (said: Answer | undefined) => {
        clearTimeout(timer);
        const answer: Answer =
          said && ANSWERS.has(said.kind) ? said : { kind: 'unknown', reason: 'unreadable' };
        if (late) onLate(asked, answer);
        else resolve(answer);
      },
      () => {
        clearTimeout(timer);
        // A link that fails in a way it does not know may have sent the order: not a decline.
        // guard(doubt: a link that fails is no decline): unknown', reason: 'unreadable ⇒ declined', responseCode: '05', responseMessage: '
        resolve({ kind: 'unknown', reason: 'unreadable' });
      },
    );
  });
}

/** A link that throws before it has promised anything is no different from one that breaks its promise. */
async function begin<Result>(asking: () => Promise<Result>): Promise<Result> {
  return asking();
}

export async function inquireUnderDeadline(
  link: AcquirerLink,
  order: StoredOrder,
  prepared: Prepared,
  deadlineMs: number,
): Promise<Finding> {
  const inquiry = () => link.inquire(order, prepared);
  const found = await withinDeadline<Finding | undefined>(inquiry, deadlineMs, undefined);
  return found && FINDINGS.has(found.kind) ? found : { kind: 'no_answer' };
}

/** Whatever is no clear confirmation is none. */
export async function reverseUnderDeadline(
  link: AcquirerLink,
  order: StoredOrder,
  prepared: Prepared,
  deadlineMs: number,
): Promise<Reversal> {
  // guard(inquiry: what was not seen is reversed, since it may still arrive): () => link.reverse(order, prepared) ⇒ async () => 'reversed'
  const said = await withinDeadline(() => link.reverse(order, prepared), deadlineMs, 'no_answer');
  return said === 'reversed' ? 'reversed' : 'no_answer';
}

/** What does not come in time, or fails, did not come. */
export async function withinDeadline<Result>(
  asking: () => Promise<Result>,
  deadlineMs: number,
  otherwise: Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Result>((resolve) => {
    timer = setTimeout(resolve, deadlineMs, otherwise);
  });
  try {
    return await Promise.race([begin(asking).catch(() => otherwise), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Throws where the link does, or takes too long. A promise only where the link has to wait for something: most often it has not. */
export function prepareUnderDeadline(
  link: AcquirerLink,
  order: Order,
  deadlineMs: number,
): Prepared | Promise<Prepared> {
  const prepared = link.prepare?.(order);
  return prepared instanceof Promise || prepared === undefined
    ? preparedInTime(Promise.resolve(prepared), deadlineMs)
    : prepared;
}

async function preparedInTime(preparing: Promise<Prepared>, deadlineMs: number): Promise<Prepared> {
  const late = Symbol('late');
  const prepared = await withinDeadline(() => preparing, deadlineMs, late);
  if (prepared === late || prepared === undefined) throw new Error('the link could not prepare the order');
  return prepared;
}
