// Two ways to say where a body ends, or one that is wrong, so that something else could hide behind it.

export interface Framing {
  readonly headers: readonly string[];
  readonly payload: string;
}

/** `hiddenLength`: of what is hidden, once its placeholders are filled in. */
export function misleadingFramings(hidden: string, hiddenLength: number): Framing[] {
  const chunked = 'Transfer-Encoding: chunked';
  const bad = (...headers: string[]) => ({ headers, payload: `0\r\n\r\n${hidden}` });
  const badChunk = (payload: string) => ({ headers: [chunked], payload: payload + hidden });
  return [
    bad('Content-Length: 5', chunked),
    bad(chunked, 'Content-Length: 5'),
    bad(`Content-Length: ${hiddenLength + 5}`, chunked),
    bad('Content-Length: 5', 'Transfer-Encoding: xchunked'),
    bad('Content-Length: 5', 'Transfer-Encoding: chunked, identity'),
    bad('Content-Length: 5', 'Transfer-Encoding: identity'),
    bad('Content-Length: 5', 'Transfer-Encoding:\tchunked'),
    bad('Content-Length: 5', 'Transfer-Encoding:', ' chunked'),
    bad('Content-Length: 5', 'Transfer-Encoding : chunked'),
    bad('Content-Length: 5', chunked, 'Transfer-Encoding: x'),
    bad('Transfer-Encoding: gzip'),
    bad('Content-Length: 5', 'Content-Length: 0'),
    bad('Content-Length: 5, 5'),
    bad('Content-Length: +5'),
    bad('Content-Length: 0x5'),
    bad('Content-Length: 5 5'),
    bad('Content-Length: -5'),
    bad('Content-Length: 99999999999999999999999'),
    bad('Content-Length:'),
    badChunk('0x5\r\nhello\r\n0\r\n\r\n'),
    badChunk('-5\r\nhello\r\n0\r\n\r\n'),
    badChunk('5 \r\nhello\r\n0\r\n\r\n'.replace('5 ', 'g')),
    badChunk('ffffffffffffffffff\r\n'),
    badChunk('5\r\nhelloXX0\r\n\r\n'),
    badChunk('5\r\nhello0\r\n\r\n'),
    badChunk('\r\n\r\n'),
    badChunk(`${'5'.repeat(400)}\r\n`),
  ];
}
