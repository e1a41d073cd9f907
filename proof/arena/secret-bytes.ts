// The search for card numbers and CVVs in bytes: files of a database, and the memory of a process.
import type { Secrets } from './secrets.js';

export interface Sighting {
  readonly what: 'card number' | 'CVV';
  /** How it is written there. */
  readonly form: string;
  /** The place in the bytes. */
  readonly at: number;
}

/** Digits 7 to 12 are the mark; three before it and three behind it tell the card. */
const AROUND = 3;

interface CardForm {
  readonly name: string;
  readonly mark: Buffer;
  /** The twelve digits around a mark that was found there. */
  readonly core: (bytes: Buffer, at: number) => string;
}

interface CvvForm {
  readonly name: string;
  /** What stands before it, and behind it. */
  readonly before: Buffer;
  readonly behind: string;
}

export class SecretBytes {
  readonly #cards: readonly CardForm[];

  constructor(private readonly secrets: Secrets) {
    this.#cards = cardForms(secrets.mark);
  }

  find(bytes: Buffer): Sighting[] {
    const found: Sighting[] = [];
    for (const { name, mark, core } of this.#cards) {
      for (const at of placesOf(mark, bytes)) {
        if (this.secrets.isCore(core(bytes, at))) found.push({ what: 'card number', form: name, at });
      }
    }
    for (const { name, before, behind } of CVV_FORMS) {
      for (const at of placesOf(before, bytes)) {
        const begin = at + before.length;
        const told = bytes.toString('latin1', begin, begin + CVV_DIGITS + behind.length);
        if (this.secrets.cvvs.some((cvv) => told.startsWith(cvv + behind)))
          found.push({ what: 'CVV', form: name, at });
      }
    }
    return found;
  }
}

function cardForms(mark: string): CardForm[] {
  const length = mark.length;
  return [
    {
      name: 'characters',
      mark: Buffer.from(mark, 'latin1'),
      core: (bytes, at) => bytes.toString('latin1', Math.max(at - AROUND, 0), at + length + AROUND),
    },
    {
      name: 'UTF-16',
      mark: Buffer.from(mark, 'utf16le'),
      core: (bytes, at) =>
        bytes.toString('utf16le', Math.max(at - 2 * AROUND, 0), at + 2 * (length + AROUND)),
    },
    {
      name: 'hexadecimal',
      mark: Buffer.from(Buffer.from(mark, 'latin1').toString('hex'), 'latin1'),
      core: (bytes, at) =>
        Buffer.from(
          bytes.toString('latin1', Math.max(at - 2 * AROUND, 0), at + 2 * (length + AROUND)),
          'hex',
        ).toString('latin1'),
    },
    {
      name: 'BCD',
      mark: Buffer.from(mark, 'hex'),
      // Three digits are one byte and a half.
      core: (bytes, at) => bytes.toString('hex', Math.max(at - 2, 0), at + length / 2 + 2).slice(1, -1),
    },
  ];
}

/** At most. */
const CVV_DIGITS = 4;
/** Three or four digits turn up everywhere. A CVV is what stands where one stands, with its card beside it. */
const CVV_FORMS: readonly CvvForm[] = [
  ['"cvv":"', '"'],
  ['"CARD.CVV":"', '"'],
  ['CCV', ''],
].map(([before = '', behind = '']) => ({
  name: `characters in ${before}…${behind}`,
  before: Buffer.from(before),
  behind,
}));

function placesOf(wanted: Buffer, bytes: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) places.push(at);
  return places;
}
