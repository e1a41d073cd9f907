// The 120-column layout of direct-entry files as a bank sees it: reads lodged files strictly, and writes returns. From the
// published columns, independent of the gateway's own code.

/** First and last column of a field, counted from one as the banks do. */
type Columns = readonly [first: number, last: number];

export interface Header {
  readonly reel: string;
  readonly bank: string;
  readonly userName: string;
  readonly userId: string;
  readonly description: string;
  /** DDMMYY. */
  readonly day: string;
}

export interface Item {
  readonly bsb: string;
  readonly accountNumber: string;
  /** Blank where nothing is to be said of the item. */
  readonly indicator: string;
  /** `DEBIT` or `CREDIT`. */
  readonly code: string;
  readonly cents: number;
  readonly title: string;
  readonly reference: string;
  readonly traceBsb: string;
  readonly traceAccount: string;
  readonly remitter: string;
}

export interface Trailer {
  readonly netCents: number;
  readonly creditCents: number;
  readonly debitCents: number;
  readonly count: number;
}

export interface DirectEntryFile {
  readonly header: Header;
  readonly items: readonly Item[];
  readonly trailer: Trailer;
}

export interface Returned {
  readonly item: Item;
  readonly returnCode: number;
}

export const DEBIT = '13';
export const CREDIT = '50';

const WIDTH = 120;
const TRAILER_BSB = '999-999';
const HEADER = {
  reel: [19, 20],
  bank: [21, 23],
  userName: [31, 56],
  userId: [57, 62],
  description: [63, 74],
  day: [75, 80],
} as const satisfies Record<keyof Header, Columns>;
const ITEM = {
  bsb: [2, 8],
  accountNumber: [9, 17],
  indicator: [18, 18],
  code: [19, 20],
  cents: [21, 30],
  title: [31, 62],
  reference: [63, 80],
  traceBsb: [81, 87],
  traceAccount: [88, 96],
  remitter: [97, 112],
} as const satisfies Record<keyof Item, Columns>;
const TRAILER = {
  netCents: [21, 30],
  creditCents: [31, 40],
  debitCents: [41, 50],
  count: [75, 80],
} as const satisfies Record<keyof Trailer, Columns>;

function demand(right: boolean, line: string, what: string): void {
  if (!right) throw new Error(`${what}: ${JSON.stringify(line)}`);
}

function columns(line: string, [first, last]: Columns): string {
  return line.slice(first - 1, last);
}

function matching(line: string, place: Columns, pattern: RegExp): string {
  const text = columns(line, place);
  demand(pattern.test(text), line, `columns ${place.join(' to ')} are not ${pattern}`);
  return text;
}

function blank(line: string, ...places: readonly Columns[]): void {
  for (const place of places) matching(line, place, /^ *$/);
}

function number(line: string, place: Columns): number {
  return Number(matching(line, place, /^[0-9]+$/));
}

/** Spaces after the text are padding; spaces before it belong to it. */
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

export function readHeader(line: string): Header {
  wide(line, '0');
  blank(line, [2, 18], [24, 30], [81, 120]);
  return {
    reel: columns(line, HEADER.reel),
    bank: matching(line, HEADER.bank, /^[A-Z]{3}$/),
    userName: leftJustified(line, HEADER.userName),
    userId: matching(line, HEADER.userId, /^[0-9]{6}$/),
    description: leftJustified(line, HEADER.description),
    day: matching(line, HEADER.day, /^(0[1-9]|[12][0-9]|3[01])(0[1-9]|1[0-2])[0-9]{2}$/),
  };
}

export function readItem(line: string): Item {
  wide(line, '1');
  demand(number(line, [113, 120]) === 0, line, 'withholding tax');
  return {
    bsb: matching(line, ITEM.bsb, /^[0-9]{3}-[0-9]{3}$/),
    accountNumber: rightJustifiedNumber(line, ITEM.accountNumber),
    indicator: columns(line, ITEM.indicator),
    code: matching(line, ITEM.code, /^(13|50)$/),
    cents: number(line, ITEM.cents),
    title: leftJustified(line, ITEM.title),
    reference: leftJustified(line, ITEM.reference),
    traceBsb: matching(line, ITEM.traceBsb, /^[0-9]{3}-[0-9]{3}$/),
    traceAccount: rightJustifiedNumber(line, ITEM.traceAccount),
    remitter: leftJustified(line, ITEM.remitter),
  };
}

export function readTrailer(line: string): Trailer {
  wide(line, '7');
  demand(columns(line, [2, 8]) === TRAILER_BSB, line, 'not a trailer');
  blank(line, [9, 20], [51, 74], [81, 120]);
  return {
    netCents: number(line, TRAILER.netCents),
    creditCents: number(line, TRAILER.creditCents),
    debitCents: number(line, TRAILER.debitCents),
    count: number(line, TRAILER.count),
  };
}

/** A whole file: one header, the items, one trailer that says what was counted here. */
export function read(text: string): DirectEntryFile {
  const lines = text.split('\r\n');
  demand(lines.pop() === '', text.slice(-WIDTH), 'the last line has no end');
  const [first = '', ...others] = lines;
  const last = others.pop() ?? '';
  const file = { header: readHeader(first), items: others.map(readItem), trailer: readTrailer(last) };
  const totals = totalsOf(file.items);
  for (const name of Object.keys(TRAILER) as (keyof Trailer)[]) {
    demand(file.trailer[name] === totals[name], last, `${name} of the items is ${totals[name]}`);
  }
  return file;
}

/** The item that was made out to this name. */
export function itemOf({ items }: Pick<DirectEntryFile, 'items'>, title: string): Item {
  const found = items.filter((item) => item.title === title);
  if (found.length !== 1) throw new Error(`${found.length} items of ${title} in the file`);
  return found[0] as Item;
}

/** The totals of these items. */
export function totalsOf(items: readonly Item[]): Trailer {
  const sum = (code: string) =>
    items.filter((item) => item.code === code).reduce((cents, item) => cents + item.cents, 0);
  const [debitCents, creditCents] = [sum(DEBIT), sum(CREDIT)];
  return { debitCents, creditCents, netCents: Math.abs(creditCents - debitCents), count: items.length };
}

type Field = readonly [place: Columns, write: (width: number) => string];

const left = (text: string) => (width: number) => text.padEnd(width);
const right = (text: string) => (width: number) => text.padStart(width);
const digits = (value: number) => (width: number) => String(value).padStart(width, '0');

/** A line of blanks with these fields put into their columns. */
function lineOf(type: string, ...fields: readonly Field[]): string {
  const characters = new Array<string>(WIDTH).fill(' ');
  for (const [[first, last], write] of [[[1, 1], left(type)] as Field, ...fields]) {
    const text = write(last - first + 1);
    demand(text.length === last - first + 1, text, `does not fit into ${first} to ${last}`);
    characters.splice(first - 1, text.length, ...text);
  }
  return characters.join('');
}

function headerLine(header: Header): string {
  const names = Object.keys(HEADER) as (keyof Header)[];
  return lineOf('0', ...names.map((name): Field => [HEADER[name], left(header[name])]));
}

function itemFields(item: Item): Field[] {
  return [
    [ITEM.bsb, left(item.bsb)],
    [ITEM.accountNumber, right(item.accountNumber)],
    [ITEM.indicator, left(item.indicator)],
    [ITEM.code, left(item.code)],
    [ITEM.cents, digits(item.cents)],
    [ITEM.title, left(item.title)],
    [ITEM.reference, left(item.reference)],
    [ITEM.traceBsb, left(item.traceBsb)],
    [ITEM.traceAccount, right(item.traceAccount)],
    [ITEM.remitter, left(item.remitter)],
  ];
}

function trailerLine(trailer: Trailer): string {
  const names = Object.keys(TRAILER) as (keyof Trailer)[];
  const totals = names.map((name): Field => [TRAILER[name], digits(trailer[name])]);
  return lineOf('7', [[2, 8], left(TRAILER_BSB)], ...totals);
}

const ended = (lines: readonly string[]) => lines.map((line) => `${line}\r\n`).join('');

/** The whole text of a file, as a bank expects it. */
export function written({ header, items, trailer }: DirectEntryFile): string {
  const lines = items.map((item) => lineOf('1', ...itemFields(item), [[113, 120], digits(0)]));
  return ended([headerLine(header), ...lines, trailerLine(trailer)]);
}

/** The line of an item that comes back, with the return code for an indicator, and the day and user of the original. */
export function returnedLine(
  { item, returnCode }: Returned,
  { day, userId }: Pick<Header, 'day' | 'userId'>,
): string {
  const fields = itemFields({ ...item, indicator: String(returnCode) });
  return lineOf('2', ...fields, [[113, 114], left(day.slice(0, 2))], [[115, 120], left(userId)]);
}

/** A bank's whole file of returned items, with a header and a trailer of its own. */
export function returnsFile(header: Header, returned: readonly Returned[]): string {
  demand(returned.length > 0, '', 'nothing is returned');
  return ended([
    headerLine({ ...header, description: 'RETURNS' }),
    ...returned.map((each) => returnedLine(each, header)),
    trailerLine(totalsOf(returned.map(({ item }) => item))),
  ]);
}
