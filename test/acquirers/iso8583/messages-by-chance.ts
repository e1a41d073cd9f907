// Messages of any dialect made by chance, for properties that hold for all of them.
import fc from 'fast-check';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import { formsOf } from '../../../src/acquirers/iso8583/wire/codec.js';

export interface AnyMessage {
  readonly type: string;
  readonly fields: ReadonlyMap<number, string>;
}

const DIGITS = [...'0123456789'];
const HEXADECIMAL = [...'0123456789ABCDEF'];
const PRINTABLE = Array.from({ length: 94 }, (_, place) => String.fromCharCode(33 + place));
/** Long enough to need every digit of a length, short enough to be quick. */
const LONGEST = 104;

function textOf(characters: readonly string[], least: number, most: number): fc.Arbitrary<string> {
  const character = fc.constantFrom(...characters);
  return fc.array(character, { minLength: least, maxLength: most }).map((all) => all.join(''));
}

/** With any of the fields of the dialect, each as long as it may be, or so long; MACs are the codec's to make. */
export function anyMessage(dialect: Dialect, longest = LONGEST): fc.Arbitrary<AnyMessage> {
  const texts = new Map<number, fc.Arbitrary<string>>();
  for (const [field, form] of formsOf(dialect).entries()) {
    if (form === undefined || field === 64 || field === 128) continue;
    const fixed = form.lengthDigits === 0;
    const most = fixed ? form.most : Math.min(form.most, longest);
    if (form.kind === 'n') texts.set(field, textOf(DIGITS, fixed ? most : 0, most));
    // Spaces at the end of a field that is filled up with spaces are not told from those.
    else if (form.kind === 'an') texts.set(field, textOf(PRINTABLE, 0, most));
    else
      texts.set(
        field,
        textOf(HEXADECIMAL, most, most).map((text) => text.repeat(2)),
      );
  }
  const type = fc.constantFrom(
    '0100',
    '0110',
    '0200',
    '0210',
    '0221',
    '0230',
    '0420',
    '0421',
    '0430',
    '0810',
  );
  const fields = fc
    .subarray([...texts.keys()])
    .chain((chosen) =>
      fc
        .tuple(...chosen.map((field) => texts.get(field) as fc.Arbitrary<string>))
        .map((all) => new Map(chosen.map((field, place) => [field, all[place] as string]))),
    );
  return fc.record({ type, fields });
}
