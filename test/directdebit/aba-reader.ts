// The 120-column layout of direct-entry files as a bank sees it: reads what was lodged and writes what it returns.
// Written from the positions of the format, knowing nothing of how the gateway writes.

export interface LodgedHeader {
  readonly reel: string;
  readonly bank: string;
  readonly userName: string;
  readonly userId: string;
  readonly description: string;
  readonly date: string;
}

export interface LodgedLine {
  readonly bsb: string;
  readonly account: string;
  readonly indicator: string;
  readonly code: string;
  readonly cents: number;
  readonly title: string;
  readonly reference: string;
  readonly traceBsb: string;
  readonly traceAccount: string;
  readonly remitter: string;
}

export interface LodgedTotals {
  readonly netCents: number;
  readonly creditCents: number;
  readonly debitCents: number;
  readonly count: number;
}

export interface LodgedFile {
  readonly header: LodgedHeader;
  readonly items: readonly LodgedLine[];
  readonly totals: LodgedTotals;
}

/** First and last column, counted from 1 as the banks do. */
type Columns = readonly [first: number, last: number];

const WIDTH = 120;
export const DEBIT = '13';
export const CREDIT = '50';

function columns(line: string, [first, last]: Columns): string {
  return line.slice(first - 1, last);
}

function demand(right: boolean, line: string, what: string): void {
  if (!right) throw new Error(`${what}: ${JSON.stringify(line)}`);
}

function blank(line: string, ...places: readonly Columns[]): void {
  for (const place of places) {
    demand(/^ *$/.test(columns(line, place)), line, `columns ${place.join(' to ')} are not blank`);
  }
}

function digits(line: string, place: Columns): number {
  const text = columns(line, place);
  demand(/^[0-9]+$/.test(text), line, `columns ${place.join(' to ')} are not digits`);
  return Number(text);
}

function matching(line: string, place: Columns, pattern: RegExp): string {
  const text = columns(line, place);
  demand(pattern.test(text), line, `columns ${place.join(' to ')} are not ${pattern}`);
  return text;
}

/** Left-justified: what follows the text is fill. */
function leftJustified(line: string, place: Columns): string {
  return columns(line, place).replace(/ +$/, '');
}

function rightJustifiedNumber(line: string, place: Columns): string {
  return matching(line, place, /^ *[0-9]+$/).replace(/^ +/, '');
}

function wide(line: string, type: string): void {
  demand(line.length === WIDTH, line, `${line.length} columns`);
  demand(line.startsWith(type), line, `not of type ${type}`);
}

export function readHeader(line: string): LodgedHeader {
  wide(line, '0');
  blank(line, [2, 18], [24, 30], [81, 120]);
  return {
    reel: columns(line, [19, 20]),
    bank: matching(line, [21, 23], /^[A-Z]{3}$/),
    userName: leftJustified(line, [31, 56]),
    userId: matching(line, [57, 62], /^[0-9]{6}$/),
    description: leftJustified(line, [63, 74]),
    date: matching(line, [75, 80], /^(0[1-9]|[12][0-9]|3[01])(0[1-9]|1[0-2])[0-9]{2}$/),
  };
}

export function readItem(line: string): LodgedLine {
  wide(line, '1');
  demand(digits(line, [113, 120]) === 0, line, 'withholding tax');
  return {
    bsb: matching(line, [2, 8], /^[0-9]{3}-[0-9]{3}$/),
    account: rightJustifiedNumber(line, [9, 17]),
    indicator: columns(line, [18, 18]),
    code: matching(line, [19, 20], /^(13|50)$/),
    cents: digits(line, [21, 30]),
    title: leftJustified(line, [31, 62]),
    reference: leftJustified(line, [63, 80]),
    traceBsb: matching(line, [81, 87], /^[0-9]{3}-[0-9]{3}$/),
    traceAccount: rightJustifiedNumber(line, [88, 96]),
    remitter: leftJustified(line, [97, 112]),
  };
}

export function readTotals(line: string): LodgedTotals {
  wide(line, '7');
  demand(columns(line, [2, 8]) === '999-999', line, 'not a trailer');
  blank(line, [9, 20], [51, 74], [81, 120]);
  return {
    netCents: digits(line, [21, 30]),
    creditCents: digits(line, [31, 40]),
    debitCents: digits(line, [41, 50]),
    count: digits(line, [75, 80]),
  };
}

/** A whole file: one header, the items, one trailer that says what was counted here. */
export function readLodgedFile(text: string): LodgedFile {
  const lines = text.split('\r\n');
  demand(lines.pop() === '', text.slice(-WIDTH), 'the last line has no end');
  const [first = '', ...others] = lines;
  const last = others.pop() ?? '';
  const file = { header: readHeader(first), items: others.map(readItem), totals: readTotals(last) };
  const sum = (wanted: string) =>
    file.items.reduce((cents, item) => cents + (item.code === wanted ? item.cents : 0), 0);
  const [debitCents, creditCents] = [sum(DEBIT), sum(CREDIT)];
  const { totals } = file;
  demand(totals.count === file.items.length, last, `${file.items.length} items`);
  demand(totals.debitCents === debitCents, last, `debits of ${debitCents}`);
  demand(totals.creditCents === creditCents, last, `credits of ${creditCents}`);
  demand(totals.netCents === Math.abs(creditCents - debitCents), last, 'net of something else');
  return file;
}

/** The item as the bank sends it back. */
export function returnedLine(item: LodgedLine, returnCode: number, day: number, userId: string): string {
  const line = new Array<string>(WIDTH).fill(' ');
  const put = (first: number, text: string) => void line.splice(first - 1, text.length, ...text);
  put(1, '2');
  put(2, item.bsb);
  put(18 - item.account.length, item.account);
  put(18, String(returnCode));
  put(19, item.code);
  put(21, String(item.cents).padStart(10, '0'));
  put(31, item.title);
  put(63, item.reference);
  put(81, item.traceBsb);
  put(97 - item.traceAccount.length, item.traceAccount);
  put(97, item.remitter);
  put(113, String(day).padStart(2, '0'));
  put(115, userId);
  return line.join('');
}

/** A whole file of returned items, with a header and a trailer of its own. */
export function returnsFile(
  { header, items }: LodgedFile,
  returned: readonly { item: LodgedLine; code: number }[],
): string {
  demand(items.length > 0, '', 'nothing was lodged');
  const sum = (wanted: string) =>
    returned.reduce((cents, { item }) => cents + (item.code === wanted ? item.cents : 0), 0);
  const ten = (cents: number) => String(cents).padStart(10, '0');
  const [debits, credits] = [sum(DEBIT), sum(CREDIT)];
  const day = Number(header.date.slice(0, 2));
  return [
    `0${' '.repeat(17)}01${header.bank}${' '.repeat(7)}${header.userName.padEnd(26)}${header.userId}RETURNS     ${header.date}${' '.repeat(40)}`,
    ...returned.map(({ item, code }) => returnedLine(item, code, day, header.userId)),
    `7999-999${' '.repeat(12)}${ten(Math.abs(credits - debits))}${ten(credits)}${ten(debits)}${' '.repeat(24)}${String(returned.length).padStart(6, '0')}${' '.repeat(40)}`,
    '',
  ].join('\r\n');
}
