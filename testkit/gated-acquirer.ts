// An acquirer that holds its answers back until released: requests stay in flight.
import type { AcquirerLink, Answer } from '../src/acquirers/contract.js';

export interface GatedAcquirer extends AcquirerLink {
  /** Resolves when a request has reached the acquirer. */
  readonly reached: Promise<void>;
  /** From now on every request is approved. */
  release(): void;
}

const APPROVED: Answer = {
  kind: 'approved',
  responseCode: '00',
  responseMessage: 'Approved',
  authorisationCode: '123456',
};

function signal(): { given: Promise<void>; give: () => void } {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

/** Replaces the simulator. Inquiries and reversals get no answer, so that the resolver decides nothing. */
export function gatedAcquirer(): GatedAcquirer {
  const reached = signal();
  const released = signal();
  return {
    name: 'simulator',
    mode: 'test',
    open: async () => {},
    close: async () => {},
    reached: reached.given,
    release: released.give,
    async ask() {
      reached.give();
      await released.given;
      return APPROVED;
    },
    inquire: async () => ({ kind: 'no_answer' }),
    reverse: async () => 'no_answer',
  };
}
