// The guards of the end of cards: what keeps a card, and what destroys it.
import type { Guard, NamedTest } from './guard.js';

const STATUS = 'src/transactions/status.sql.ts';
const LIFE = 'src/transactions/card-life.sql.ts';
const DESTRUCTION = 'src/transactions/card-destruction.ts';
const ENDS = 'src/transactions/card-ends.sql.ts';
const STATEMENTS = 'src/transactions/card-destruction.sql.ts';
const CREATE = 'src/transactions/create.ts';
const CARDS = 'test/transactions/card-destruction.test.ts';
const CLOCKS = 'test/transactions/card-clocks.test.ts';
const DECIDED = 'test/transactions/cards-of-decided.test.ts';
const CUSTOMERS = 'test/transactions/cards-of-customers.test.ts';

const OVER_TIME: NamedTest = [CARDS, 'each goes when nothing more can be done with it, and not before'];
const DELETION: NamedTest = [CUSTOMERS, 'the cards in its finished transactions go at once'];

export const CARD_GUARDS: readonly Guard[] = [
  {
    name: 'card: not kept of what was declined or has failed',
    file: STATUS,
    find: "`answer.status NOT IN ('declined', 'error') OR",
    replace: "`answer.status <> 'none' OR",
    tests: [[DECIDED, 'purchase, preauthorisation and standalone refund,']],
  },
  {
    name: 'card: kept of what was approved',
    file: STATUS,
    find: "`answer.status NOT IN ('declined', 'error') OR",
    replace: "`answer.status = 'none' OR",
    tests: [[DECIDED, 'purchase in doubt that turns out to be approved']],
  },
  {
    name: 'card: kept for a day of what was reversed by messages',
    file: STATUS,
    find: " OR (answer.status = 'error' AND t.reversing AND t.prepared IS NOT NULL)`;",
    replace: '`;',
    tests: [['test/acquirers/iso8583/iso8583-gateway.test.ts', 'charges after it has never seen it']],
  },
  {
    name: 'card: not kept of what was voided',
    file: STATUS,
    find: 'WHEN NOT merged.voided THEN t.payment_details_sealed',
    replace: 'WHEN true THEN t.payment_details_sealed',
    tests: [[DECIDED, 'voided purchase, preauthorisation and standalone refund']],
  },
  {
    name: 'card: kept where a void was declined',
    file: STATUS,
    find: 'WHEN NOT merged.voided THEN t.payment_details_sealed',
    replace: 'WHEN false THEN t.payment_details_sealed',
    tests: [[DECIDED, 'a declined void changes nothing']],
  },
  {
    name: 'refund: no longer than the card is kept',
    file: 'src/transactions/target-rules.ts',
    find: '  any(isSet(BANK_ACCOUNT), IN_CARD_DAYS),\n',
    replace: '',
    tests: [OVER_TIME],
  },
  {
    name: 'card: kept while a refund is in doubt',
    file: LIFE,
    find: "bool_or(target.status IN ('unknown', 'pending') OR",
    replace: 'bool_or(',
    tests: [[DECIDED, 'refund in doubt when the days of its card are over']],
  },
  {
    name: 'card: kept while a void is in doubt',
    file: LIFE,
    find: " OR (target.status = 'approved' AND target.voided_by IS NOT NULL)",
    replace: '',
    tests: [[DECIDED, 'void in doubt when its day is over']],
  },
  {
    name: 'card: kept for the refunds of a completion',
    file: LIFE,
    find: 'completion.audit = card.completed_by',
    replace: 'completion.audit = -1',
    tests: [OVER_TIME],
  },
  {
    name: 'card: kept while a refund can be voided',
    file: LIFE,
    find: 'AND card.refunded_cents > 0',
    replace: 'AND false',
    tests: [[DECIDED, 'refunded in full, and a refund of it can still be voided']],
  },
  {
    name: 'card: kept while the refund of a completion can be voided',
    file: LIFE,
    find: "refund.target_audit = card.completed_by AND refund.transaction_type = 'refund'",
    replace: 'false',
    tests: [[DECIDED, 'refunded in full, and a refund of it can still be voided']],
  },
  {
    name: 'card: not kept for refunds of a deleted customer',
    file: LIFE,
    find: ` AND NOT \${CUSTOMER_DELETED}`,
    replace: '',
    tests: [DELETION],
  },
  {
    name: 'card: destroyed only when it has ended',
    file: ENDS,
    find: ' AND judged.ends_at <= moment.past\n',
    replace: '\n',
    tests: [OVER_TIME, DELETION],
  },
  {
    name: 'card: what ends between the looks is held',
    file: ENDS,
    find: 'WHERE judged.ends_at > moment.past',
    replace: 'WHERE false',
    tests: [OVER_TIME],
  },
  {
    name: 'card: a completion leads to the card at the last look',
    file: STATEMENTS,
    find: "WHEN t.has_card THEN t.audit WHEN t.transaction_type = 'completion' THEN t.target_audit END",
    replace: 'WHEN t.has_card THEN t.audit END',
    tests: [OVER_TIME],
  },
  {
    name: 'card: a completion that was voided leads to the card',
    file: STATEMENTS,
    find: "WHEN target.transaction_type = 'completion' THEN target.target_audit",
    replace: '',
    tests: [[DECIDED, 'completion voided, or refunded in full, after it was looked at']],
  },
  {
    name: 'card: the first look finds what was paid while the customer was deleted',
    file: STATEMENTS,
    find: ' AND NOT EXISTS (SELECT 1 FROM token\n              WHERE token.organisation_id = $1 AND token.id = t.token_id AND token.deleted_at IS NOT NULL OFFSET 0)',
    replace: '',
    tests: [[CUSTOMERS, 'while a payment with its token is under way']],
  },
  {
    name: 'card destruction: nobody is waited for',
    slow: true,
    file: ENDS,
    find: 'FOR NO KEY UPDATE SKIP LOCKED',
    replace: 'FOR NO KEY UPDATE',
    tests: [[CARDS, 'a transaction that somebody has locked']],
  },
  {
    name: 'card: not destroyed while a refund of its completion begins',
    file: ENDS,
    find: 'card.completed_by IN (SELECT audit FROM completion)',
    replace: 'true',
    tests: [[CUSTOMERS, 'while a refund of what it paid begins']],
  },
  {
    name: 'card: not destroyed within ten minutes of its end',
    file: ENDS,
    find: "const A_WHILE = `interval '10 minutes'`;",
    replace: "const A_WHILE = `interval '0'`;",
    tests: [[CLOCKS, 'ten minutes after its end']],
  },
  {
    name: 'card destruction: merchants in turns',
    file: STATEMENTS,
    find: 'ORDER BY next_at LIMIT 1',
    replace: 'ORDER BY organisation_id, merchant_id LIMIT 1',
    tests: [[CARDS, 'one has very many cards to end']],
  },
  {
    name: 'card destruction: a turn that fails is put back',
    slow: true,
    file: DESTRUCTION,
    find: 'await this.database.query(POSTPONE_CARD_REVIEW, [owner.organisationId, owner.merchantId]);',
    replace: '',
    tests: [[CARDS, 'one whose cards cannot be looked at']],
  },
  {
    name: 'card destruction: one process at a time',
    file: DESTRUCTION,
    find: '!rows[0]?.locked || ',
    replace: 'rows[0] !== undefined && ',
    tests: [[CARDS, 'another process is at it']],
  },
  {
    name: 'card destruction: not while the clocks differ',
    file: DESTRUCTION,
    find: 'if (Math.abs(apartMs) < CLOCKS_AGREE_WITHIN_MS) {',
    replace: 'if (Number.isFinite(apartMs)) {',
    tests: [[CLOCKS, 'nothing is destroyed, since it may be wrong']],
  },
  {
    name: 'card destruction: not when the clocks differ by the time of the turn',
    file: DESTRUCTION,
    find: ' || this.#clocksApart(rows[0].nowMs)',
    replace: '',
    tests: [[CLOCKS, 'another one by the time of the turn']],
  },
  {
    name: 'card destruction: clocks that differ are told of, though nothing is due',
    file: DESTRUCTION,
    find: 'look === undefined || this.#clocksApart(look.nowMs) || !look.due',
    replace: '!look?.due',
    tests: [[CLOCKS, 'though no card is due']],
  },
  {
    name: 'card destruction: not after the clock has jumped',
    file: DESTRUCTION,
    find: 'if (this.#jumped(begunMs)) return;\n',
    replace: '\n',
    tests: [[CLOCKS, 'nothing is destroyed for a day']],
  },
  {
    name: 'card destruction: what a deletion leaves is worked off',
    file: DESTRUCTION,
    find: 'if (more) await connection.query(LEAVE_CARDS_OF_DELETED_CUSTOMER, values);',
    replace: '',
    tests: [[CUSTOMERS, 'with more transactions than are looked at at once']],
  },
  {
    name: 'customer: its cards go with it',
    file: 'src/vault/customers.ts',
    find: 'const cards = await this.destroyCards(connection, { organisationId, merchantId, customerId: id });',
    replace: 'const cards = 0;',
    tests: [DELETION],
  },
  {
    name: 'refund: not without a card over a link that needs it',
    file: CREATE,
    find: "operation === 'refund' && link.needsCard",
    replace: "operation === 'refund' && false",
    tests: [[CUSTOMERS, 'refund over a link that needs the card of a deleted customer']],
  },
  {
    name: 'card number and CVV: erased once the acquirer was asked',
    file: CREATE,
    find: '        eraseCard(opened ?? command);\n',
    replace: '',
    tests: [['test/transactions/acquirer-answers.test.ts', 'asked once, with a reference of its own']],
  },
];
