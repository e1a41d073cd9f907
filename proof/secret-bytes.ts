// The search for card numbers and CVVs in bytes: files of a database, and the memory of a process.
import type { Secrets } from './hostile-secrets.js';

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
  readonly text: Buffer;
}

export class SecretBytes {
  readonly #cards: readonly CardForm[];
  readonly #cvvs: readonly CvvForm[];

  constructor(private readonly secrets: Secrets) {
    this.#cards = cardForms(secrets.mark);
    this.#cvvs = secrets.cvvs.flatMap(cvvForms);
  }

  find(bytes: Buffer): Sighting[] {
    const found: Sighting[] = [];
    for (const { name, mark, core } of this.#cards) {
      for (const at of placesOf(mark, bytes)) {
        if (this.secrets.isCore(core(bytes, at))) found.push({ what: 'card number', form: name, at });
      }
    }
    for (const { name, text } of this.#cvvs) {
      for (const at of placesOf(text, bytes)) found.push({ what: 'CVV', form: name, at });
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

/** Three or four digits turn up everywhere. A CVV is what stands where one stands, with its card beside it. */
function cvvForms(cvv: string): CvvForm[] {
  const texts = [`"cvv":"${cvv}"`, `"CARD.CVV":"${cvv}"`, `CCV${cvv}`];
  return texts.map((text) => ({
    name: `characters in ${text.replace(cvv, '…')}`,
    text: Buffer.from(text),
  }));
}

function placesOf(wanted: Buffer, bytes: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) places.push(at);
  return places;
}
