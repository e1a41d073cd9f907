// The cards of a vault that is moved: what stands in its file, and what has to come of each line.
import { luhnDigit } from '../src/values/card.js';
import type { Chance } from '../testkit/chance.js';
import type { Secrets } from './hostile-secrets.js';

export interface MovedCard {
  readonly oldId: string;
  readonly reference: string;
  readonly card: string;
  /** What the import has to make of it. */
  readonly ending: 'imported' | 'duplicate' | 'refused';
}

const TOKENS_OF_CUSTOMER = 3;
/** One line in so many. */
const DUPLICATE_EVERY = 50;
const WRONG_EVERY = 97;

/** Cards of customers, of whom each has several; some twice under two IDs, some with a wrong digit. */
export function movedCards(tokens: number, secrets: Secrets, chance: Chance): MovedCard[] {
  const cards: MovedCard[] = [];
  let ofCustomer = new Set<string>();
  for (let place = 0; place < tokens; place += 1) {
    const reference = `customer-${Math.floor(place / TOKENS_OF_CUSTOMER)}`;
    if (place % TOKENS_OF_CUSTOMER === 0) ofCustomer = new Set();
    let card = secrets.card();
    while (ofCustomer.has(card)) card = secrets.card();
    ofCustomer.add(card);
    const moved = { oldId: `card_${place}`, reference, card, ending: 'imported' } as const;
    cards.push(moved);
    if (place % DUPLICATE_EVERY === 0) cards.push({ ...moved, oldId: `again_${place}`, ending: 'duplicate' });
    if (place % WRONG_EVERY === 0) cards.push({ ...withWrongDigit(moved, chance), oldId: `wrong_${place}` });
  }
  return cards;
}

function withWrongDigit(moved: MovedCard, chance: Chance): MovedCard {
  const digits = moved.card.slice(0, -1);
  const wrong = (Number(luhnDigit(digits)) + chance.between(1, 9)) % 10;
  return { ...moved, card: digits + wrong, ending: 'refused' };
}

/** As JSON lines, a piece at a time. */
export async function* fileOf(cards: readonly MovedCard[]): AsyncGenerator<Buffer> {
  const piece = 1_000;
  for (let from = 0; from < cards.length; from += piece) {
    const lines = cards.slice(from, from + piece).map(({ oldId, reference, card }) =>
      JSON.stringify({
        old_token_id: oldId,
        customer_reference: reference,
        card_number: card,
        expiry: '1239',
        card_name: 'Ada Lovelace',
      }),
    );
    yield Buffer.from(`${lines.join('\n')}\n`);
  }
}
