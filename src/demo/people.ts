// The payers of the demo's history: names, cards and accounts that belong to nobody.
import { BankAccount } from '../values/bank-account.js';
import { CardNumber, type Expiry, luhnDigit } from '../values/card.js';
import { Chance } from './chance.js';

const FIRST = [
  'Amelia',
  'Oliver',
  'Charlotte',
  'Noah',
  'Isla',
  'Jack',
  'Mia',
  'William',
  'Ava',
  'Leo',
  'Grace',
  'Lucas',
  'Willow',
  'Thomas',
  'Harper',
  'Hugo',
  'Matilda',
  'Arjun',
  'Ruby',
  'Minh',
  'Zoe',
  'Darius',
  'Priya',
  'Angus',
];
const LAST = [
  'Nguyen',
  'Smith',
  'Jones',
  'Williams',
  'Brown',
  'Wilson',
  'Taylor',
  'Singh',
  'Martin',
  'Chen',
  'Campbell',
  'Kelly',
  'Walker',
  'Papadopoulos',
  'Harris',
  'Rossi',
  'Murphy',
  'Khan',
  'Evans',
  'Novak',
  'Baker',
  'Tran',
  'Fraser',
  'Costa',
];

export interface DemoCard {
  readonly number: CardNumber;
  readonly expiry: Expiry;
}

export interface Person {
  readonly name: string;
  readonly reference: string;
  readonly card: DemoCard;
  readonly account: BankAccount;
}

const KNOWN = new Map<string, Person>();

/** The customer of a shop with this number, the same each time. */
export function personOf(shop: string, number: number): Person {
  const known = KNOWN.get(`${shop}/${number}`) ?? makeUp(shop, number);
  KNOWN.set(`${shop}/${number}`, known);
  return known;
}

function makeUp(shop: string, number: number): Person {
  const chance = new Chance(`${shop}/person/${number}`);
  const name = `${chance.one(FIRST)} ${chance.one(LAST)}`;
  return {
    name,
    reference: `member-${String(number).padStart(4, '0')}`,
    card: cardBy(chance),
    account: accountBy(chance, name),
  };
}

/** The simulated acquirer takes none of these prefixes for a test card. */
const PREFIXES: readonly (readonly [string, number])[] = [
  ['4564', 30],
  ['4902', 22],
  ['5163', 18],
  ['5217', 14],
  ['3776', 9],
  ['560279', 7],
];

export function cardBy(chance: Chance): DemoCard {
  const prefix = chance.weighted(PREFIXES);
  const length = prefix.startsWith('37') ? 15 : 16;
  const digits = prefix + chance.digits(length - prefix.length - 1);
  return {
    number: new CardNumber(digits + luhnDigit(digits)),
    expiry: { month: chance.between(1, 12), year: chance.between(2028, 2031) },
  };
}

const BSBS = ['062-000', '032-001', '082-057', '013-030', '484-799', '633-000'];

function accountBy(chance: Chance, name: string): BankAccount {
  // Nine digits: the simulated bank returns certain shorter ones.
  return new BankAccount(chance.one(BSBS), String(chance.between(100_000_000, 899_999_999)), name);
}

/** An account that the simulated bank returns with this code. */
export function returnedAccount({ account }: Person, code: number): BankAccount {
  return new BankAccount(account.bsb, `90000${code}`, account.name);
}
