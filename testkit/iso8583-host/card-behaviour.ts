// What a test card makes the host do: for its payment, or for later operations.
import { type Behaviour, FAULTS } from './behaviour.js';
import type { Books } from './books.js';
import type { Request } from './request.js';

interface TestCard {
  /** Of a payment with the card. */
  readonly payment: Behaviour;
  /** Of every completion and refund of that payment. */
  readonly later: Behaviour;
  /** Of its void. Cards that only spoil their payments do not spoil the reversals of those. */
  readonly void: Behaviour;
}

const ORDINARY: TestCard = { payment: {}, later: {}, void: {} };
const TEST_CARD = /^4([1-4])00000000000([0-9]{2})[0-9]$/;

/** 41 answers with a code and 42 meets a fault; with 43 and 44 the payment is approved, and what follows is not. */
function testCardOf(pan: string): TestCard {
  const [, kind, digits = ''] = TEST_CARD.exec(pan) ?? [];
  if (kind === undefined) return ORDINARY;
  const asked = kind === '1' || kind === '3' ? { code: digits } : faultNumbered(digits);
  const isAtOnce = kind === '1' || kind === '2';
  return { payment: isAtOnce ? asked : {}, later: asked, void: isAtOnce ? {} : asked };
}

function faultNumbered(digits: string): Behaviour {
  const fault = FAULTS[digits as keyof typeof FAULTS];
  return fault === undefined ? {} : { fault };
}

/**
 * A repetition is served: else what is repeated until it is acknowledged would never end. A reversal is spoilt as a void is
 * only where its original was answered properly.
 */
export function cardBehaviour(request: Request, books: Books): Behaviour {
  const card = testCardOf(request.pan);
  switch (request.kind) {
    case 'payment':
      return request.original === undefined ? card.payment : card.later;
    case 'completion': {
      const { code } = card.later;
      return request.isRepeat ? { ...(code !== undefined && { code }) } : card.later;
    }
    case 'reversal': {
      const original = books.find(request.original?.key ?? '');
      const isVoid = original !== undefined && original.fault === undefined && books.stands(original);
      return isVoid && !request.isRepeat ? card.void : {};
    }
  }
}
