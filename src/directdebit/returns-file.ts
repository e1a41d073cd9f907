// Importing a bank's returns file: line by line in bounded memory, safe to break off and to repeat at any point.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { journal } from '../merchants/journal.js';
import type { Database } from '../store/database.js';
import { sydneyDate } from '../values/sydney.js';
import { LINE_LENGTH, parseReturnedItem, parseTrailer, type ReturnedItem } from './aba-line.js';
import { parseLodgementReference } from './lodgement-reference.js';
import {
  type Declined,
  type Matched,
  matchReturns,
  type NoMatch,
  type Return,
  takeReturns,
} from './returns.js';

export interface ImportOptions {
  readonly installation: string;
  readonly nowMs: number;
  readonly actor: string;
  readonly file: string;
  readonly progress: (lines: number) => void;
}

/** A line that changed nothing, and why. */
export interface Unmatched {
  readonly line: number;
  readonly lodgementReference: string;
  readonly reason: NoMatch | 'cannot be read';
}

export interface ImportResult {
  /** Returned items in the file. */
  readonly items: number;
  /** Transactions that are declined now. */
  readonly returned: number;
  /** Of these, how many were approved before. */
  readonly late: number;
  /** Items that had been returned before: by an earlier import, one at the same time, or an earlier line. */
  readonly returnedAlready: number;
  readonly unmatched: readonly Unmatched[];
  /** Late returns of purchases that had been refunded, wholly or in part: the merchant has paid twice. */
  readonly refunded: readonly number[];
  /** False where the file does not end in a trailer that speaks of the items before it: it may be cut short. */
  readonly complete: boolean;
}

interface Line extends Matched {
  readonly line: number;
}

const BATCH = 500;

export async function importReturns(database: Database, options: ImportOptions): Promise<ImportResult> {
  const counted = { items: 0, debitCents: 0, creditCents: 0 };
  const unmatched: Unmatched[] = [];
  const declined: Pick<Declined, 'audit' | 'late' | 'refundedCents'>[] = [];
  let returnedAlready = 0;
  let complete = false;
  let batch: Line[] = [];

  const take = async () => {
    const lines = batch;
    batch = [];
    const matches = await matchReturns(database, lines, sydneyDate(options.nowMs));
    const returns: Return[] = [];
    for (const [index, match] of matches.entries()) {
      const { line, item } = lines[index] as Line;
      if (typeof match === 'object') returns.push(match);
      else if (match === 'returned already') returnedAlready += 1;
      else unmatched.push({ line, lodgementReference: item.lodgementReference, reason: match });
    }
    const taken = await takeReturns(database, returns, options.actor);
    for (const { audit, late, refundedCents } of taken) declined.push({ audit, late, refundedCents });
    // Listed twice, or returned by another import since they were looked up.
    returnedAlready += returns.length - taken.length;
  };

  let number = 0;
  for await (const read of createInterface({ input: createReadStream(options.file, 'latin1') })) {
    number += 1;
    const text = read.padEnd(LINE_LENGTH);
    if (/^0|^ *$/.test(text)) continue;
    const item = parseReturnedItem(text);
    const trailer = item === undefined ? parseTrailer(text) : undefined;
    if (item !== undefined) {
      complete = false;
      count(counted, item);
      batch.push({ line: number, item, lodged: lodgedHere(item, options.installation) });
      if (batch.length === BATCH) {
        await take();
        options.progress(number);
      }
    } else if (trailer !== undefined) {
      complete = (Object.keys(counted) as (keyof typeof counted)[]).every(
        (key) => counted[key] === trailer[key],
      );
    } else {
      unmatched.push({ line: number, lodgementReference: '', reason: 'cannot be read' });
    }
  }
  if (batch.length > 0) await take();
  options.progress(number);

  const late = declined.filter((one) => one.late).length;
  await journal(database, {
    actor: options.actor,
    action: 'directdebit.returns_imported',
    detail: `${declined.length} returned, ${late} of them late, ${returnedAlready} before, ${unmatched.length} unmatched`,
  });
  return {
    items: counted.items,
    returned: declined.length,
    late,
    returnedAlready,
    unmatched,
    refunded: declined.filter(({ refundedCents }) => refundedCents > 0).map(({ audit }) => audit),
    complete,
  };
}

/** An item of another installation, which may share the user ID with the bank, is none of ours. */
function lodgedHere({ lodgementReference }: ReturnedItem, installation: string): Matched['lodged'] {
  const lodged = parseLodgementReference(lodgementReference);
  return lodged?.installation === installation ? lodged : undefined;
}

function count(
  counted: { items: number; debitCents: number; creditCents: number },
  item: ReturnedItem,
): void {
  counted.items += 1;
  counted[item.mode === 'debit' ? 'debitCents' : 'creditCents'] += item.amountCents;
}
