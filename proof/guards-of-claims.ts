// The guards of commit A: correlation IDs, what a target allows, what must be durable before the acquirer is asked.
// Not among them: the organisation beside the merchant (merchants are unique across organisations).
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: guards quote texts in which other texts are put together.
import type { Guard } from './guard.js';

const CLAIM = 'src/transactions/claim.sql.ts';
const RULES = 'src/transactions/target-rules.ts';
const CREATE = 'src/transactions/create.ts';
const CORRELATION_IDS = 'test/api/taken-correlation-ids.test.ts';
const ANSWERS = 'test/transactions/acquirer-answers.test.ts';
const REFUND = 'test/transactions/refund.test.ts';
const COMPLETION = 'test/transactions/completion.test.ts';
const VOID = 'test/transactions/void.test.ts';
const SETTLEMENT = 'test/transactions/settlement.test.ts';
const COMMITS = 'test/transactions/commit-order.test.ts';

export const CLAIM_GUARDS: readonly Guard[] = [
  {
    name: 'correlation ID: unique by constraint',
    slow: true,
    // The migration that made it last.
    file: 'migrations/0008_correlation_id_first.sql',
    find: 'UNIQUE (correlation_id, merchant_id, organisation_id)',
    replace: 'UNIQUE (correlation_id, merchant_id, organisation_id, audit)',
    also: [
      {
        file: CLAIM,
        find: 'ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING`;',
        replace: 'ON CONFLICT DO NOTHING`;',
      },
      {
        file: CLAIM,
        find: 'ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING\n      RETURNING',
        replace: 'ON CONFLICT DO NOTHING\n      RETURNING',
      },
    ],
    tests: [
      [CORRELATION_IDS, 'repeated with'],
      [COMMITS, 'refund under a correlation ID that another is just winning'],
    ],
  },
  {
    name: 'correlation ID: a payment that lost it is not inserted, and told so',
    file: CLAIM,
    find: 'ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING`;',
    replace: '`;',
    tests: [[CORRELATION_IDS, 'repeated with']],
  },
  {
    name: 'correlation ID: a batch that fails because one is taken is claimed again without it',
    file: 'src/transactions/claim.ts',
    find: "if (!isUniqueViolation(error, 'correlation_id_once')) throw error;",
    replace: 'if (isUniqueViolation(error)) throw error;',
    tests: [[CORRELATION_IDS, 'repeated with']],
  },
  {
    name: 'correlation ID: a payment that lost it is not sent to the acquirer',
    file: CREATE,
    find: 'if (holder !== audit) throw correlationIdTaken(holder);',
    replace: '',
    tests: [[CORRELATION_IDS, 'repeated with']],
  },
  {
    name: 'correlation ID: won by another at the same moment → refused, reservation included',
    file: CLAIM,
    find: 'ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING\n      RETURNING',
    replace: 'RETURNING',
    tests: [[COMMITS, 'refund under a correlation ID that another is just winning']],
  },
  {
    name: 'target: locked while it decides, so that two batches cannot both have what is left of it',
    file: CLAIM,
    find: '      FOR NO KEY UPDATE OF target\n',
    replace: '',
    tests: [[COMMITS, 'refund of what another one is just being refunded']],
  },
  {
    name: 'target: approved',
    file: RULES,
    find: "is(TYPE, 'purchase', 'completion'),\n  is(STATUS, 'approved'),",
    replace: "is(TYPE, 'purchase', 'completion'),",
    also: [
      {
        file: RULES,
        find: "is(TYPE, 'preauthorisation'),\n  is(STATUS, 'approved'),",
        replace: "is(TYPE, 'preauthorisation'),",
      },
      {
        file: RULES,
        find: "all(is(STATUS, 'approved'), isAhead(VOIDABLE_UNTIL)),",
        replace: 'all(isEmpty(VOIDED_BY)),',
      },
    ],
    tests: [
      [REFUND, 'a declined purchase'],
      [COMPLETION, 'a declined preauthorisation'],
      [VOID, 'void of a declined transaction'],
    ],
  },
  {
    name: 'target: no void of it under way',
    slow: true,
    file: RULES,
    find: 'isEmpty(VOIDED_BY),\n  // After that',
    replace: '// After that',
    also: [
      {
        file: RULES,
        find: 'isEmpty(VOIDED_BY),\n  isEmpty(COMPLETED_BY),',
        replace: 'isEmpty(COMPLETED_BY),',
      },
      {
        file: RULES,
        find: 'isEmpty(COMPLETED_BY),\n  isEmpty(VOIDED_BY),',
        replace: 'isEmpty(COMPLETED_BY),',
      },
    ],
    tests: [[ANSWERS, 'void → the target still stands as approved, but nothing else is accepted']],
  },
  {
    name: 'target: of the merchant that the request names',
    file: CLAIM,
    find: 'AND target.merchant_id = asked.merchant_id',
    replace: '',
    tests: [
      [REFUND, 'another merchant than its target is of'],
      [COMPLETION, 'another merchant of the same user'],
      [VOID, 'another merchant than its target is of'],
    ],
  },
  {
    name: 'refund: only of a purchase or a completion',
    file: RULES,
    find: "is(TYPE, 'purchase', 'completion'),",
    replace: '',
    tests: [[REFUND, 'anything but a purchase or a completion']],
  },
  {
    name: 'refund: in the currency of its target',
    file: CLAIM,
    find: 'AND target.currency = asked.currency\n            AND asked.amount_cents <= ${MOST_REFUNDABLE.sql}',
    replace: 'AND asked.amount_cents <= ${MOST_REFUNDABLE.sql}',
    tests: [[REFUND, 'another currency than the purchase']],
  },
  {
    name: 'refund: together no more than the original',
    file: CLAIM,
    find: 'AND asked.amount_cents <= ${MOST_REFUNDABLE.sql}',
    replace: '',
    tests: [[REFUND, 'one cent more than the rest']],
  },
  {
    name: 'refund: no more than the original, without the constraint that stands behind it',
    file: CLAIM,
    find: 'AND asked.amount_cents <= ${MOST_REFUNDABLE.sql}',
    replace: '',
    also: [
      {
        file: 'migrations/0041_quick_gates.sql',
        find: 'refunded_cents BETWEEN 0 AND amount_cents',
        replace: 'refunded_cents >= 0',
      },
    ],
    tests: [[REFUND, 'one cent more than the rest']],
  },
  {
    name: 'refund: its amount is reserved while it is in doubt',
    slow: true,
    file: CLAIM,
    find: "WHEN inserted.transaction_type = 'refund' THEN target.refunded_cents + inserted.amount_cents ELSE",
    replace: "WHEN inserted.transaction_type = 'refund' THEN target.refunded_cents ELSE",
    tests: [[ANSWERS, 'refund → its amount counts; declined in the end, it is back']],
  },
  {
    // Nothing else has an age, so that the age has to go with it.
    name: 'completion: only of a preauthorisation',
    file: RULES,
    find: "  is(TYPE, 'preauthorisation'),\n",
    replace: '',
    also: [{ file: RULES, find: '  isAhead(COMPLETABLE_UNTIL),\n', replace: '' }],
    tests: [[COMPLETION, 'anything but a preauthorisation']],
  },
  {
    name: 'completion: in the currency of its target',
    file: CLAIM,
    find: 'AND target.currency = asked.currency\n            AND asked.amount_cents <= ${MOST_COMPLETABLE.sql}',
    replace: 'AND asked.amount_cents <= ${MOST_COMPLETABLE.sql}',
    tests: [[COMPLETION, 'another currency']],
  },
  {
    name: 'completion: once',
    file: RULES,
    find: '  isEmpty(COMPLETED_BY),\n  isAhead(COMPLETABLE_UNTIL),',
    replace: '  isAhead(COMPLETABLE_UNTIL),',
    tests: [[COMPLETION, 'a second time']],
  },
  {
    name: 'completion: no more than was preauthorised',
    file: CLAIM,
    find: 'AND asked.amount_cents <= ${MOST_COMPLETABLE.sql}',
    replace: '',
    tests: [[COMPLETION, 'one cent more than preauthorised']],
  },
  {
    name: 'completion: not of a preauthorisation that is too old',
    file: RULES,
    find: '  isAhead(COMPLETABLE_UNTIL),\n',
    replace: '',
    tests: [[SETTLEMENT, 'preauthorisation, eight days old']],
  },
  {
    name: 'void: not of a void',
    file: RULES,
    find: "  isNot(TYPE, 'void'),\n",
    replace: '',
    tests: [[VOID, 'void of a void']],
  },
  {
    name: 'void: not of what has live refunds',
    file: RULES,
    find: '  isZero(REFUNDED),\n',
    replace: '',
    tests: [[VOID, 'void of a purchase with a live refund']],
  },
  {
    name: 'void: not of a completed preauthorisation',
    file: RULES,
    find: '  isZero(REFUNDED),\n  isEmpty(COMPLETED_BY),\n',
    replace: '  isZero(REFUNDED),\n',
    tests: [[VOID, 'void of a completed preauthorisation']],
  },
  {
    name: 'void: not after the settlement cut-off',
    file: RULES,
    find: "all(is(STATUS, 'approved'), isAhead(VOIDABLE_UNTIL)),",
    replace: "is(STATUS, 'approved'),",
    tests: [[SETTLEMENT, 'before the cut-off of a business day']],
  },
  {
    name: 'commit order: nothing is sent before commit A',
    file: CREATE,
    find: 'const holder = await claims.direct(',
    replace:
      'const asked = this.#parts.asking.ask({ intent: claim, merchant, order, prepared });\n    order.asked = () => asked;\n    const holder = await claims.direct(',
    also: [
      {
        file: CREATE,
        find: 'answer = await asking.ask(claimed); // once',
        replace: 'answer = await (claimed.order.asked?.() ?? asking.ask(claimed)); // once',
      },
    ],
    tests: [[COMMITS, 'while commit A waits']],
  },
  {
    name: 'commit order: nothing is answered before commit B',
    slow: true,
    file: 'src/transactions/finish.ts',
    find: 'const stored = await this.#commitB(intent, outcome);',
    // A commit that goes through at once is waited for all the same: what comes next on an ordinary day needs it.
    replace:
      "const stored = await Promise.race([this.#commitB(intent, outcome), sleep(150, 'as answered' as const)]);",
    tests: [[COMMITS, 'while commit B waits']],
  },
];
