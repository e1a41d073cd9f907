// The lines of a direct-entry (ABA, CEMTEX) file: 120 characters each, every field at its place.
import type { BankAccount, DirectDebitMode } from '../../values/bank-account.js';
import { type Cents, cents } from '../../values/money.js';

export const LINE_LENGTH = 120;
export const USER_NAME_WIDTH = 26;
export const DESCRIPTION_WIDTH = 12;
export const REMITTER_WIDTH = 16;

/** How a merchant introduces itself to its bank. */
export interface DirectEntrySettings {
  /** The bank's three letters. */
  readonly bank: string;
  readonly userName: string;
  /** Six digits, given by APCA. */
  readonly userId: string;
  readonly description: string;
  /** The merchant's own account. */
  readonly traceBsb: string;
  readonly traceAccount: string;
  readonly remitter: string;
}

export interface FileItem {
  readonly account: BankAccount;
  readonly mode: DirectDebitMode;
  readonly amountCents: Cents;
  readonly lodgementReference: string;
}

export interface FileTotals {
  readonly items: number;
  readonly debitCents: Cents;
  readonly creditCents: Cents;
}

export const NO_ITEMS: FileTotals = { items: 0, debitCents: cents(0), creditCents: cents(0) };

export function withItem(
  { items, debitCents, creditCents }: FileTotals,
  { mode, amountCents }: Pick<FileItem, 'mode' | 'amountCents'>,
): FileTotals {
  return mode === 'debit'
    ? { items: items + 1, debitCents: cents(debitCents + amountCents), creditCents }
    : { items: items + 1, debitCents, creditCents: cents(creditCents + amountCents) };
}

/** A returned item, as the bank's file says. */
export interface ReturnedItem {
  readonly bsb: string;
  readonly accountNumber: string;
  readonly returnCode: number;
  readonly mode: DirectDebitMode;
  readonly amountCents: Cents;
  readonly lodgementReference: string;
}

const TRANSACTION_CODES: Readonly<Record<DirectDebitMode, string>> = { debit: '13', credit: '50' };

export function headerLine(settings: DirectEntrySettings, processingDay: string): string {
  return line([
    ['0', 1],
    ['', 17],
    ['01', 2],
    [settings.bank, 3],
    ['', 7],
    [settings.userName, USER_NAME_WIDTH],
    [settings.userId, 6],
    [settings.description, DESCRIPTION_WIDTH],
    [dayMonthYear(processingDay), 6],
    ['', 40],
  ]);
}

export function itemLine(item: FileItem, settings: DirectEntrySettings): string {
  return line([
    ['1', 1],
    [item.account.bsb, 7],
    [item.account.reveal().padStart(9), 9],
    ['', 1],
    [TRANSACTION_CODES[item.mode], 2],
    [zeroFilled(item.amountCents, 10), 10],
    [item.account.name, 32],
    [item.lodgementReference, 18],
    [settings.traceBsb, 7],
    [settings.traceAccount.padStart(9), 9],
    [settings.remitter, REMITTER_WIDTH],
    ['00000000', 8],
  ]);
}

export function trailerLine({ items, debitCents, creditCents }: FileTotals): string {
  return line([
    ['7', 1],
    ['999-999', 7],
    ['', 12],
    [zeroFilled(Math.abs(creditCents - debitCents), 10), 10],
    [zeroFilled(creditCents, 10), 10],
    [zeroFilled(debitCents, 10), 10],
    ['', 24],
    [zeroFilled(items, 6), 6],
    ['', 40],
  ]);
}

/** The line, or undefined where it is not that of a returned item. */
export function parseReturnedItem(text: string): ReturnedItem | undefined {
  if (text.length !== LINE_LENGTH) return undefined;
  // The account number takes what the other fields leave of the line: nine characters.
  const [, bsb, accountNumber, returnCode, transactionCode, amount, lodgementReference] =
    /^2([0-9]{3}-[0-9]{3}) *([0-9]+)([1-9])(13|50)([0-9]{10}).{32}(.{18}).{40}$/.exec(text) ?? [];
  if (bsb === undefined || accountNumber === undefined || lodgementReference === undefined) return undefined;
  return {
    bsb,
    accountNumber,
    returnCode: Number(returnCode),
    mode: transactionCode === TRANSACTION_CODES.debit ? 'debit' : 'credit',
    amountCents: cents(amount as string),
    lodgementReference: lodgementReference.trim(),
  };
}

/** What a trailer says, or undefined where the line is none. */
export function parseTrailer(text: string): FileTotals | undefined {
  const [, creditCents, debitCents, items] =
    /^7999-999 {12}[0-9]{10}([0-9]{10})([0-9]{10}) {24}([0-9]{6}) {40}$/.exec(text) ?? [];
  if (items === undefined) return undefined;
  return {
    items: Number(items),
    debitCents: cents(debitCents as string),
    creditCents: cents(creditCents as string),
  };
}

/** Every field left-justified in its width. One that does not fit is a mistake of ours: it would move all the others. */
function line(fields: readonly (readonly [text: string, width: number])[]): string {
  const text = fields.map(([field, width]) => field.padEnd(width)).join('');
  if (text.length !== LINE_LENGTH) throw new Error('a field of a direct-entry line is too long');
  return text;
}

function zeroFilled(number: number, width: number): string {
  return String(number).padStart(width, '0');
}

/** `2026-11-16` as `161126`. */
function dayMonthYear(day: string): string {
  const [year = '', month = '', date = ''] = day.split('-');
  return date + month + year.slice(2);
}
