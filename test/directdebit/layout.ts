// Reads and writes direct-entry files by the columns of the published layout, apart from the gateway's own code.

/** First and last column of a field, counted from one. */
type Columns = readonly [first: number, last: number];

export interface Header {
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
  /** 13 for a debit, 50 for a credit. */
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

const left = (text: string) => (width: number) => text.padEnd(width);
const right = (text: string) => (width: number) => text.padStart(width);
const digits = (number: number) => (width: number) => String(number).padStart(width, '0');

/** A line of 120 blanks with these fields put into their columns. */
function lineOf(fields: readonly (readonly [Columns, (width: number) => string])[]): string {
  const characters = Array.from({ length: 120 }, () => ' ');
  for (const [[first, last], write] of fields) {
    const text = write(last - first + 1);
    if (text.length !== last - first + 1) throw new Error(`does not fit into ${first} to ${last}: ${text}`);
    characters.splice(first - 1, text.length, ...text);
  }
  return characters.join('');
}

function itemFields(item: Item): [Columns, (width: number) => string][] {
  return [
    [[2, 8], left(item.bsb)],
    [[9, 17], right(item.accountNumber)],
    [[19, 20], left(item.code)],
    [[21, 30], digits(item.cents)],
    [[31, 62], left(item.title)],
    [[63, 80], left(item.reference)],
    [[81, 87], left(item.traceBsb)],
    [[88, 96], right(item.traceAccount)],
    [[97, 112], left(item.remitter)],
  ];
}

function headerLine({ bank, userName, userId, description, day }: Header): string {
  return lineOf([
    [[1, 1], left('0')],
    [[19, 20], left('01')],
    [[21, 23], left(bank)],
    [[31, 56], left(userName)],
    [[57, 62], left(userId)],
    [[63, 74], left(description)],
    [[75, 80], left(day)],
  ]);
}

function trailerLine({ netCents, creditCents, debitCents, count }: Trailer): string {
  return lineOf([
    [[1, 1], left('7')],
    [[2, 8], left('999-999')],
    [[21, 30], digits(netCents)],
    [[31, 40], digits(creditCents)],
    [[41, 50], digits(debitCents)],
    [[75, 80], digits(count)],
  ]);
}

/** The whole text of a file, as a bank expects it. */
export function written({ header, items, trailer }: DirectEntryFile): string {
  const lines = [
    headerLine(header),
    ...items.map((item) => lineOf([[[1, 1], left('1')], ...itemFields(item), [[113, 120], digits(0)]])),
    trailerLine(trailer),
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

/** What stands in the columns of a file; `written` of it is the file again, or it was not one. */
export function read(text: string): DirectEntryFile {
  const lines = text.split('\r\n').slice(0, -1);
  const at = (line: string | undefined, ...[first, last]: Columns) =>
    (line ?? '').slice(first - 1, last).trim();
  const [header, ...items] = lines;
  const trailer = items.pop();
  return {
    header: {
      bank: at(header, 21, 23),
      userName: at(header, 31, 56),
      userId: at(header, 57, 62),
      description: at(header, 63, 74),
      day: at(header, 75, 80),
    },
    items: items.map((line) => ({
      bsb: at(line, 2, 8),
      accountNumber: at(line, 9, 17),
      code: at(line, 19, 20),
      cents: Number(at(line, 21, 30)),
      title: at(line, 31, 62),
      reference: at(line, 63, 80),
      traceBsb: at(line, 81, 87),
      traceAccount: at(line, 88, 96),
      remitter: at(line, 97, 112),
    })),
    trailer: {
      netCents: Number(at(trailer, 21, 30)),
      creditCents: Number(at(trailer, 31, 40)),
      debitCents: Number(at(trailer, 41, 50)),
      count: Number(at(trailer, 75, 80)),
    },
  };
}

/** The item that was made out to this name. */
export function itemOf({ items }: DirectEntryFile, title: string): Item {
  const found = items.filter((item) => item.title === title);
  if (found.length !== 1) throw new Error(`${found.length} items of ${title} in the file`);
  return found[0] as Item;
}

export interface Returned {
  readonly item: Item;
  readonly returnCode: number;
}

/** The line of an item that comes back: type 2, with the return code and the day and user of the original. */
export function returnedLine({ item, returnCode }: Returned, { day, userId }: Header): string {
  return lineOf([
    [[1, 1], left('2')],
    ...itemFields(item),
    [[18, 18], digits(returnCode)],
    [[113, 114], left(day.slice(0, 2))],
    [[115, 120], left(userId)],
  ]);
}

/** The totals of these items. */
export function totalsOf(items: readonly Item[]): Trailer {
  const sum = (code: string) =>
    items.filter((item) => item.code === code).reduce((cents, item) => cents + item.cents, 0);
  const [debitCents, creditCents] = [sum('13'), sum('50')];
  return { debitCents, creditCents, netCents: Math.abs(creditCents - debitCents), count: items.length };
}

/** A bank's whole file of returned items. */
export function returnsFile(header: Header, returned: readonly Returned[]): string {
  const lines = [
    headerLine(header),
    ...returned.map((each) => returnedLine(each, header)),
    trailerLine(totalsOf(returned.map(({ item }) => item))),
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}
