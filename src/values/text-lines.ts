// Reads a file or pipe of any length line by line. Only one line, of limited length, is kept in memory.

export interface TextLine {
  /** Counted from 1. */
  readonly number: number;
  /** Undefined if the line is too long. */
  readonly text: string | undefined;
}

const LINE_END = 10;
const BYTE_ORDER_MARK = /^\ufeff/;

/** Yields the lines that end in each chunk together. */
export async function* textLines(
  bytes: AsyncIterable<Uint8Array>,
  longestBytes: number,
): AsyncGenerator<readonly TextLine[]> {
  let number = 0;
  let rest: Buffer = Buffer.alloc(0);
  let cut = false;
  const ended = (line: Buffer): TextLine => {
    const isTooLong = cut || line.length > longestBytes;
    cut = false;
    number += 1;
    if (isTooLong) return { number, text: undefined };
    const text = line.toString('utf8').replace(/\r$/, '');
    return { number, text: number === 1 ? text.replace(BYTE_ORDER_MARK, '') : text };
  };
  for await (const piece of bytes) {
    const whole = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    const lines: TextLine[] = [];
    let from = 0;
    for (let end = whole.indexOf(LINE_END); end !== -1; end = whole.indexOf(LINE_END, from)) {
      lines.push(ended(whole.subarray(from, end)));
      from = end + 1;
    }
    rest = whole.subarray(from);
    if (rest.length > longestBytes) {
      cut = true;
      rest = Buffer.alloc(0);
    }
    yield lines;
  }
  if (cut || rest.length > 0) yield [ended(rest)];
}
