// How long an acquirer is waited for: here, and nowhere else. No link needs to know.
import type { AcquirerLink, Answer, Order, Prepared } from './contract.js';

/** Asks once, and waits no longer than the deadline. What is answered after that is told to `onLate`. */
export function askUnderDeadline<Asked extends { readonly order: Order; readonly prepared: Prepared }>(
  link: AcquirerLink,
  asked: Asked,
  deadlineMs: number,
  onLate: (asked: Asked, answer: Answer) => void,
): Promise<Answer> {
  return new Promise((resolve) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      resolve({ kind: 'unknown', reason: 'timeout' } satisfies Answer);
    }, deadlineMs);
    begin(() => link.ask(asked.order, asked.prepared)).then(
      (answer) => {
        clearTimeout(timer);
        if (late) onLate(asked, answer);
        else resolve(answer);
      },
      () => {
        clearTimeout(timer);
        // A link that fails in a way it does not know may have sent the order: not a decline.
        resolve({ kind: 'unknown', reason: 'unreadable' });
      },
    );
  });
}

/** A link that throws before it has promised anything is no different from one that breaks its promise. */
async function begin<Result>(asking: () => Promise<Result>): Promise<Result> {
  return asking();
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

/** Throws where the link does, or takes too long. */
export async function prepareUnderDeadline(
  link: AcquirerLink,
  order: Order,
  deadlineMs: number,
): Promise<Prepared> {
  const late = Symbol('late');
  const prepared = await withinDeadline(async () => link.prepare?.(order), deadlineMs, late);
  if (prepared === late || prepared === undefined) throw new Error('the link could not prepare the order');
  return prepared;
}
