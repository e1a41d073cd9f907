// Names in the characters that the interface takes, for those who ask for it: `José O’Brien` as `Jose OBrien`.
import { isRestricted } from '../../values/text.js';

/** Letters that are no letter with a mark. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  đ: 'd',
  Đ: 'D',
  ł: 'l',
  Ł: 'L',
  ı: 'i',
};

/** What is left of a name; nothing where it is written in another script. */
export function plainName(name: string): string {
  const letters = [...name.normalize('NFKD')].map((letter) => LETTERS[letter] ?? letter);
  return letters.filter(isRestricted).join('').replaceAll(/ +/g, ' ').trim();
}
