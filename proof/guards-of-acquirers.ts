// The guards of the ISO 8583 link: what is not sent is certain, nothing unreadable is an answer, and no number is used twice.
import type { Guard, NamedTest } from './guard.js';

const FOLDER = 'src/acquirers/iso8583';
const TESTS = 'test/acquirers/iso8583';
const MIGRATION = 'migrations/0020_acquirers.sql';
const LINE = `${TESTS}/iso8583-line.test.ts`;
const LINK = `${TESTS}/iso8583-link.test.ts`;
const CODES = `${TESTS}/iso8583-codes.test.ts`;
const GATEWAY = `${TESTS}/iso8583-gateway.test.ts`;
const OUTSTANDING = `${TESTS}/iso8583-outstanding.test.ts`;
const HOSTILE = `${TESTS}/hostile-host.test.ts`;
const CODEC = `${TESTS}/iso8583-codec.test.ts`;
const CONNECTION = `${TESTS}/iso8583-connection.test.ts`;
const STANS = `${TESTS}/stan-leases.test.ts`;

const guard = (name: string, file: string, find: string, replace: string, ...tests: NamedTest[]): Guard => ({
  name: `ISO 8583: ${name}`,
  file: file.endsWith('.sql') ? file : `${FOLDER}/${file}`,
  find,
  replace,
  tests,
});

export const ACQUIRER_GUARDS: readonly Guard[] = [
  guard(
    'what was handed to the socket may have left',
    'outbox.ts',
    'waiting.handedOver = true;',
    '',
    [LINE, 'unknown after the deadline'],
    [CONNECTION, 'cut off after the message'],
  ),
  guard(
    'what is not sent is taken back',
    'outstanding.ts',
    `      } else {
        takeBack(waiting);
`,
    `      } else {
`,
    [LINE, 'is not sent, and never arrives'],
  ),
  guard(
    'what is reversed before it was sent is not sent any more',
    'outstanding.ts',
    `    } else if (waiting !== undefined) {
      takeBack(waiting);
`,
    `    } else if (waiting !== undefined) {
`,
    [LINE, 'given up while it waits'],
  ),
  guard(
    'nothing is sent before the sign-on is answered',
    'connection.ts',
    "return this.#state === 'signed on';",
    "return this.#state === 'signed on' || this.#state === 'connecting';",
    [CONNECTION, 'before the sign-on is answered'],
  ),
  guard(
    'an answer is known by its type too',
    'outstanding.ts',
    'if (waiting?.handedOver && waiting.answerType === type && isAbout',
    'if (waiting?.handedOver && isAbout',
    [LINE, 'only the right one counts'],
  ),
  guard(
    'what has not left cannot have been answered',
    'outstanding.ts',
    'if (waiting?.handedOver && waiting.answerType === type && isAbout',
    'if (waiting?.answerType === type && isAbout',
    [OUTSTANDING, 'a payment behind it that is told as not sent never leaves'],
    [OUTSTANDING, 'waits for its own'],
  ),
  guard(
    'an answer that names another retrieval reference is not believed',
    'outstanding.ts',
    'return named === undefined || sent === undefined || named === sent;',
    'return named !== null;',
    [LINK, 'under another retrieval reference'],
  ),
  guard(
    'what is still to be handed over is not mistaken for another',
    'outstanding.ts',
    'this.#settle(before, UNREADABLE, before.handedOver);',
    'this.#settle(before, UNREADABLE);',
    [OUTSTANDING, 'the second that is told as not sent never leaves'],
  ),
  guard(
    'a host that does not read fills no memory',
    'connection.ts',
    "if (this.#outbox.ofItself > MOST_UNREAD_ANSWERS) this.close('the host does not read what it is answered');",
    'void MOST_UNREAD_ANSWERS;',
    [HOSTILE, 'faster than they can be answered'],
  ),
  guard(
    'a wrong MAC is unreadable',
    'codec.ts',
    "if (given.length !== MAC_BYTES || !mac.is(given, covered)) throw new Unreadable('a wrong MAC');",
    'if (given.length !== MAC_BYTES || !mac.is(given, covered)) return;',
    [LINE, 'with a key'],
    [CODEC, 'with a MAC'],
  ),
  guard(
    'a message is read to its end',
    'codec.ts',
    "if (next !== end) throw new Unreadable('longer than its fields');",
    '',
    [CODEC, 'with anything behind it'],
  ),
  guard(
    'what cannot be read closes the connection',
    'connection.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a template
    'this.close(`an unreadable message: ${why}`);',
    'void why;',
    [LINE, 'with a key'],
  ),
  guard(
    'approved is what was asked for',
    'verdicts.ts',
    'if (response.amount !== undefined && Number(response.amount) !== asked.amountCents)',
    'if (response.amount === asked.operation)',
    [CODES, 'approved for another amount'],
  ),
  guard(
    'a partial approval is reversed',
    'verdicts.ts',
    "if (this.#partial.has(code)) return { kind: 'partial', decision: { kind: 'declined', ...words } };",
    '',
    [CODES, 'reversed, and declined with its code'],
  ),
  guard(
    'a completion approved in part is reversed',
    'link.ts',
    'return this.#reversedFor(order, numbers, response);',
    "return { kind: 'no_answer' };",
    [LINK, 'every response code to a completion'],
  ),
  guard(
    'a completion that was taken back is not repeated',
    'link.ts',
    "if (begun === undefined && order.operation === 'completion')",
    "if (order.operation === 'completion')",
    [LINK, 'a completion approved for another amount'],
  ),
  guard(
    'a reversal is stored before it is sent',
    'link.ts',
    'const begun = isBegun(before) ? before : await this.#begin(order, numbers, partial);',
    `const begun = isBegun(before) ? before : { stan: await this.#parts.stans.take(numbers.terminal), responseCode: partial?.code ?? null, authorisationCode: null };
    void this.#begin;`,
    [LINK, 'reversed under one STAN'],
  ),
  guard(
    'a process that stood still sends nothing',
    'outbox.ts',
    'if (waiting?.maySend === undefined || waiting.maySend()) {',
    'if (waiting !== null) {',
    [LINK, 'a process that stood still'],
  ),
  guard(
    'a repetition that the host calls a duplicate is not declined',
    'link.ts',
    "if (order.operation === 'completion' && this.#verdicts.isDuplicate(exchange.response)) {",
    "if (order.operation === 'void' && this.#verdicts.isDuplicate(exchange.response)) {",
    [CODES, '94 to a completion'],
  ),
  guard(
    'an answer that comes after the reversal is ignored',
    'link.ts',
    `    line.giveUp(numbers);
`,
    '',
    [LINK, 'ignored after it'],
  ),
  guard(
    'an approval after the reversal is reversed again',
    'link.ts',
    'if (answersToPayments.has(answer.type)) this.#noteIfApproved(answer);',
    'if (answersToPayments.size < 0) this.#noteIfApproved(answer);',
    [GATEWAY, 'charges after it has never seen it'],
  ),
  guard(
    '25 is no answer to the reversal of what the host has approved',
    'reversals.sql.ts',
    '(approved_at IS NOT NULL OR response_code IS NOT NULL) AS approved',
    'false AS approved',
    [GATEWAY, 'charges after it has never seen it'],
  ),
  guard(
    'a reversal goes over the connection of its payment',
    'line.ts',
    'const connection = this.#connectionAfter(after) ?? this.#signedOn();',
    'const connection = (void after, void this.#connectionAfter) ?? this.#signedOn();',
    [GATEWAY, 'over the connection of the payment'],
  ),
  guard('the CVV is erased', 'outbox.ts', 'waiting.cvv?.erase();', '', [
    LINK,
    'erased as soon as it was sent',
  ]),
  guard(
    'an old lease is not used',
    'stan-leases.ts',
    'return ageMs >= 0 && ageMs < USABLE_MS;',
    'return ageMs >= Number.NEGATIVE_INFINITY && USABLE_MS > 0;',
    [STANS, 'a lease older than an hour'],
  ),
  guard(
    'no STAN comes again within a day',
    MIGRATION,
    'least(wanted, round - (begins - coalesce(oldest, begins)), round - begins % round)',
    'least(wanted, round - begins % round)',
    [STANS, 'used up within a day'],
  ),
  guard(
    'STANs jump ahead of what a failover lost',
    MIGRATION,
    'CASE WHEN c.lineage = here THEN 0 ELSE ahead * greatest(timeline_of(here) - timeline_of(c.lineage), 1) END',
    '0',
    [STANS, 'a database that has gone back'],
  ),
  guard(
    'a terminal whose counter a failover lost begins somewhere else',
    MIGRATION,
    'greatest(timeline_of(here) - 1, 0) * ahead % round',
    '0',
    [STANS, 'begins where none of an earlier history was'],
  ),
];
