// Reads a CSV file line by line, however long it is and whatever is in it: one line spoils only itself.
import { createReadStream } from 'node:fs';
import { csvFields } from '../values/csv.js';

export interface CsvLine {
  /** Counted from 1. */
  readonly number: number;
  /** The fields, or why there are none. */
  readonly fields: readonly string[] | 'too long' | 'quotes';
}

/** Longer lines are not kept, so that a file without line ends cannot fill the memory. */
const LONGEST = 1_000;
const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf';

/** Every line that is not empty. Bytes are read as they are: what is not ASCII is in no field that counts. */
export async function* csvLines(path: string): AsyncGenerator<readonly CsvLine[]> {
  let number = 0;
  let rest = '';
  let cut = false;
  for await (const chunk of createReadStream(path, { encoding: 'latin1', highWaterMark: 1 << 18 })) {
    const texts = (rest + (chunk as string)).split('\n');
    rest = texts.pop() ?? '';
    const lines: CsvLine[] = [];
    for (const text of texts) {
      number += 1;
      const line = lineOf(number, text, cut);
      cut = false;
      if (line !== undefined) lines.push(line);
    }
    if (rest.length > LONGEST) {
      rest = rest.slice(0, LONGEST + 1);
      cut = true;
    }
    yield lines;
  }
  const last = lineOf(number + 1, rest, cut);
  if (last !== undefined) yield [last];
}

function lineOf(number: number, text: string, cut: boolean): CsvLine | undefined {
  const begun = number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  const whole = begun.endsWith('\r') ? begun.slice(0, -1) : begun;
  if (cut || whole.length > LONGEST) return { number, fields: 'too long' };
  return whole === '' ? undefined : { number, fields: csvFields(whole) ?? 'quotes' };
}
