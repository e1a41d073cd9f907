// The host's decision about a request: a response code, and the entries to write before it is answered.
import { randomInt } from 'node:crypto';
import { approves, type Books } from './books.js';
import type { Complaint, Decided, Entry } from './ledger.js';
import type { OriginalData, Request } from './request.js';

export interface Decision {
  readonly responseCode: string;
  readonly authorisationCode?: string;
  /** Where it is not the amount that was asked for. */
  readonly amountCents?: number;
  readonly entries: readonly Entry[];
}

export interface Circumstances {
  readonly nowMs: number;
  /** What a test card or a rule asks for, instead of what the host would say by itself. */
  readonly code?: string;
  readonly fault?: string;
  readonly connection: number;
  /** Whether a reversal holds for a payment that comes after it. */
  readonly unseenReversals?: 'remembered' | 'forgotten';
}

const PARTIAL = '10';

export function decide(books: Books, request: Request, circumstances: Circumstances): Decision {
  const earlier = books.digestUnder(request.key);
  const underItsOriginal = request.kind === 'reversal' && request.key === request.original?.key;
  if (earlier !== undefined && earlier !== request.digest && !underItsOriginal) {
    return { responseCode: '94', entries: [complaint('STAN used twice', request, circumstances)] };
  }
  switch (request.kind) {
    case 'reversal':
      return decideReversal(books, request, circumstances);
    case 'completion':
      return decideCompletion(books, request, circumstances);
    case 'payment':
      return decidePayment(books, request, circumstances);
  }
}

function decidePayment(books: Books, request: Request, circumstances: Circumstances): Decision {
  const before = books.find(request.key);
  if (before !== undefined) {
    return { ...answerOf(before), entries: [complaint('asked again', request, circumstances)] };
  }
  // It was reversed before it arrived.
  if (books.isReversed(request.key)) return decided(request, '12', circumstances);
  if (request.operation === undefined) return decided(request, '12', circumstances);
  if (request.operation !== 'refund') {
    const own = isExpired(request, circumstances.nowMs) ? '54' : '00';
    return decided(request, circumstances.code ?? own, circumstances);
  }
  const original = books.find(request.original?.key ?? '');
  const wrong = wrongWithRefund(books, request, original);
  if (wrong !== undefined) return refused(books, request, wrong, circumstances);
  return decided(request, circumstances.code ?? '00', circumstances);
}

function decideCompletion(books: Books, request: Request, circumstances: Circumstances): Decision {
  const before = books.find(request.key);
  if (before !== undefined) {
    const entries = books.hasReceived(request)
      ? [complaint('repeated without saying so', request, circumstances)]
      : [];
    return { ...answerOf(before), entries };
  }
  if (books.isReversed(request.key)) return decided(request, '12', circumstances);
  if (request.operation === undefined) return decided(request, '12', circumstances);
  const preauthorisation = books.find(request.original?.key ?? '');
  const wrong = wrongWithCompletion(books, request, preauthorisation);
  if (wrong !== undefined) return refused(books, request, wrong, circumstances);
  return decided(request, circumstances.code ?? '00', circumstances);
}

function decideReversal(books: Books, request: Request, { code, ...circumstances }: Circumstances): Decision {
  const { original } = request;
  if (original === undefined) throw new Error('a reversal without its original was let through');
  const entries: Entry[] = [];
  const isRepeated = books.hasReversal(request.digest);
  if (isRepeated && books.hasReceived(request)) {
    entries.push(complaint('repeated without saying so', request, circumstances));
  }
  const found = books.find(original.key);
  if (found !== undefined) {
    const wrong = unlike(request, original, found) ?? wrongWithReversal(books, found);
    if (wrong !== undefined) {
      if (!isOwnFault(books, request.key, found.key))
        entries.push(complaint('unlike its original', request, circumstances, wrong));
      return { responseCode: '30', entries };
    }
  }
  if (code !== undefined && !approves(code)) return { responseCode: code, entries };
  if (books.isReversed(original.key)) {
    // The same reversal once more is answered as it was; another one finds nothing to do.
    const again = found === undefined ? '25' : '00';
    return { responseCode: isRepeated ? again : '21', entries };
  }
  if (found !== undefined && !approves(found.responseCode)) return { responseCode: '21', entries };
  if (found === undefined && circumstances.unseenReversals === 'forgotten') {
    return { responseCode: '25', entries };
  }
  entries.push({
    kind: 'reversed',
    atMs: circumstances.nowMs,
    key: request.key,
    original: original.key,
    seen: found !== undefined,
    digest: request.digest,
  });
  return { responseCode: found === undefined ? '25' : '00', entries };
}

function wrongWithRefund(books: Books, request: Request, original: Decided | undefined): string | undefined {
  if (original === undefined) return 'unknown';
  if (!['purchase', 'completion'].includes(original.operation)) return `a refund of a ${original.operation}`;
  if (!books.stands(original)) return 'its original does not stand';
  const refunded = books.standingOn(original.key).reduce((sum, { amountCents }) => sum + amountCents, 0);
  if (refunded + request.amountCents > original.amountCents) return 'more than its original has left';
  return unlike(request, request.original, original);
}

function wrongWithCompletion(
  books: Books,
  request: Request,
  preauthorisation: Decided | undefined,
): string | undefined {
  if (preauthorisation === undefined) return 'unknown';
  if (preauthorisation.operation !== 'preauthorisation') {
    return `a completion of a ${preauthorisation.operation}`;
  }
  if (!books.stands(preauthorisation)) return 'its preauthorisation does not stand';
  if (books.standingOn(preauthorisation.key).length > 0) return 'its preauthorisation is completed';
  if (request.amountCents > preauthorisation.amountCents) return 'more than was preauthorised';
  if (request.authorisationCode !== preauthorisation.authorisationCode) return 'another authorisation code';
  return unlike(request, request.original, preauthorisation);
}

/** Money that was paid back, or a hold that was drawn on, cannot be taken away under it. */
function wrongWithReversal(books: Books, found: Decided): string | undefined {
  if (books.isReversed(found.key)) return undefined;
  return books.standingOn(found.key).length > 0 ? 'something else stands on its original' : undefined;
}

/** What field 90 and the fields that must be those of the original say that it does not. */
function unlike(request: Request, data: OriginalData | undefined, original: Decided): string | undefined {
  const isReversal = request.kind === 'reversal';
  const { authorisationCode } = request;
  const differences = [
    data?.mti !== original.mti && 'MTI in field 90',
    data?.sentAt !== original.sentAt && 'time in field 90',
    request.retrievalReference !== original.retrievalReference && 'retrieval reference',
    request.cardMask !== original.cardMask && 'card',
    request.currency !== original.currency && 'currency',
    isReversal && request.amountCents !== original.askedCents && 'amount',
    isReversal && request.processingCode !== original.processingCode && 'processing code',
    isReversal &&
      authorisationCode !== undefined &&
      authorisationCode !== original.authorisationCode &&
      'authorisation code',
  ].filter((difference) => difference !== false);
  return differences.length === 0 ? undefined : differences.join(', ');
}

/** It was said never to have been seen itself, or something that stands on the same original was. */
function isOwnFault(books: Books, key: string, original: string): boolean {
  return books.wasSaidUnseen(key) || books.standingOn(original).some((one) => books.wasSaidUnseen(one.key));
}

function refused(books: Books, request: Request, wrong: string, circumstances: Circumstances): Decision {
  const { responseCode, entries } = decided(request, wrong === 'unknown' ? '25' : '12', circumstances);
  if (wrong !== 'unknown') {
    if (isOwnFault(books, request.key, request.original?.key ?? '')) return { responseCode, entries };
    return {
      responseCode,
      entries: [...entries, complaint('unlike its original', request, circumstances, wrong)],
    };
  }
  // A host that lost its store has nobody else to blame.
  if (books.storeLost) return { responseCode, entries };
  return { responseCode, entries: [...entries, complaint('original unknown', request, circumstances)] };
}

function decided(
  request: Request,
  responseCode: string,
  { nowMs, fault, connection }: Circumstances,
): Decision {
  const isApproved = approves(responseCode);
  const amountCents = responseCode === PARTIAL ? Math.ceil(request.amountCents / 2) : request.amountCents;
  const entry: Decided = {
    kind: 'decided',
    atMs: nowMs,
    key: request.key,
    mti: request.first,
    operation: request.operation ?? 'purchase',
    sentAt: request.sentAt,
    processingCode: request.processingCode,
    retrievalReference: request.retrievalReference,
    amountCents,
    askedCents: request.amountCents,
    currency: request.currency,
    cardMask: request.cardMask,
    responseCode,
    ...(isApproved && { authorisationCode: String(randomInt(1_000_000)).padStart(6, '0') }),
    ...(request.original !== undefined && { original: request.original.key }),
    ...(fault !== undefined && { fault }),
    connection,
    digest: request.digest,
  };
  return { ...answerOf(entry), entries: [entry] };
}

function answerOf({
  responseCode,
  authorisationCode,
  amountCents,
  askedCents,
}: Decided): Omit<Decision, 'entries'> {
  return {
    responseCode,
    ...(authorisationCode !== undefined && { authorisationCode }),
    ...(amountCents !== askedCents && { amountCents }),
  };
}

function complaint(
  what: Complaint['what'],
  { mti, key }: Request,
  { nowMs }: Circumstances,
  detail?: string,
): Complaint {
  return { kind: 'complaint', atMs: nowMs, what, mti, key, ...(detail !== undefined && { detail }) };
}

const SYDNEY_MONTH = new Intl.DateTimeFormat('en-AU', {
  timeZone: 'Australia/Sydney',
  year: '2-digit',
  month: '2-digit',
});

/** Field 14 is the last month in which a card can be used. */
function isExpired({ expiry }: Request, nowMs: number): boolean {
  if (expiry === undefined) return false;
  const parts = SYDNEY_MONTH.formatToParts(nowMs);
  const part = (type: 'year' | 'month') => parts.find((one) => one.type === type)?.value ?? '';
  return expiry < `${part('year')}${part('month')}`;
}
