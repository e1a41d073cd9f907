// The rules of approvals: what needs a second person in this installation, on the console and on the command line alike. The journal seals
// them. If somebody changes them in the database, everything needs a second person.
import { journal } from '../../journal/journal.js';
import { fitNow, type ReadRow } from '../../journal/seals.js';
import type { Queryable } from '../../postgres/database.js';
import { type Kind, several } from '../../tasks/kinds.js';
import {
  type Doing,
  nullable,
  optional,
  SECOND_PERSON_FOR,
  type SecondPersonFor,
  task,
} from '../../tasks/task.js';
import { CURRENCIES, isCurrency, MAX_AMOUNT_CENTS, moneyText } from '../../values/money.js';
import { refuse } from '../../values/refusal.js';
import { FIND_RULES, LOCK_RULES, STORE_RULES } from './rules.sql.js';

interface Limit {
  readonly currency: string;
  readonly cents: number;
}

export interface ApprovalRules {
  /** Empty: money needs nobody else. A currency that is not named needs a second person for any amount. */
  readonly above: readonly Limit[];
  readonly kinds: readonly SecondPersonFor[];
  /** How often they were set. */
  readonly version: number;
  /** Whether they are as they were set. */
  readonly sealed: boolean;
}

type RulesRow =
  | {
      readonly above: ApprovalRules['above'];
      readonly kinds: readonly SecondPersonFor[];
      readonly newest: Buffer | null;
    }
  | { readonly above: null; readonly kinds: null; readonly newest: Buffer | null };

/** Until somebody sets others. */
const AT_FIRST = { above: [], kinds: [...SECOND_PERSON_FOR], version: 0, sealed: true } as const;
/** Rules that are not as they were sealed count for nothing, and the strictest are in force. */
const STRICTEST = { ...AT_FIRST, above: [{ currency: 'AUD', cents: 0 }], sealed: false } as const;

export async function readRules(database: Queryable): Promise<ApprovalRules> {
  const found = await findRules(database);
  const { above, kinds } = found;
  const fit = await fitNow(database, sealedRules(found));
  // guard(second person: earlier rules do not come back): fit.kind === 'misfit' ⇒ fit.version < 0
  if (fit.kind === 'misfit') return STRICTEST;
  return above === null ? AT_FIRST : { above, kinds, version: fit.version, sealed: true };
}

export async function findRules(database: Queryable): Promise<RulesRow> {
  return ((await database.query<RulesRow>(FIND_RULES)).rows as [RulesRow])[0];
}

/** For the journal. */
export function sealedRules({ above, kinds, newest }: RulesRow): ReadRow {
  const subject = 'approval/rules';
  if (above === null) return { subject, state: null, newest };
  // In an order of their own: the database keeps members of JSON in another, and may hold anything.
  const limits = Array.isArray(above) && above.map((each) => [each?.currency, each?.cents]);
  return { subject, state: [limits, kinds], newest };
}

/** Whether so much money needs a second person. */
export function needsApproval(
  { above }: Pick<ApprovalRules, 'above'>,
  currency: string,
  cents: number,
): boolean {
  // guard(second person: a currency without a limit is no way around): ?? 0) ⇒ ?? Number.POSITIVE_INFINITY)
  return above.length > 0 && cents > (limitOf(above, currency) ?? 0);
}

function limitOf(above: readonly Limit[], currency: string): number | undefined {
  return above.find((each) => each.currency === currency)?.cents;
}

interface NewRules {
  readonly above?: readonly Limit[] | null | undefined;
  readonly kinds?: readonly (SecondPersonFor | 'nothing')[] | undefined;
}

function after(before: ApprovalRules, { above, kinds }: NewRules): Pick<ApprovalRules, 'above' | 'kinds'> {
  return {
    above: above === undefined ? before.above : (above ?? []),
    kinds:
      kinds === undefined
        ? before.kinds
        : SECOND_PERSON_FOR.filter((kind) => kinds.some((each) => each === kind)),
  };
}

/** Whether something needed a second person before, and would not any more. */
export async function loosens(database: Queryable, wish: NewRules): Promise<boolean> {
  const before = await readRules(database);
  const { above, kinds } = after(before, wish);
  if (!before.sealed || before.kinds.some((kind) => !kinds.includes(kind))) return true;
  const isLimited = before.above.length > 0;
  if (isLimited && above.length === 0) return true;
  // A limit that is named for the first time lets amounts pass that needed somebody, as long as other currencies had one.
  return isLimited && above.some(({ currency, cents }) => cents > (limitOf(before.above, currency) ?? 0));
}

export async function setRules(database: Queryable, actor: string, wish: NewRules): Promise<ApprovalRules> {
  const currencies = (wish.above ?? []).map(({ currency }) => currency);
  if (new Set(currencies).size < currencies.length) refuse('approval_rules_contradict');
  return database.transaction(async (connection) => {
    await connection.query(LOCK_RULES);
    const before = await readRules(connection);
    const rules = after(before, wish);
    await connection.query(STORE_RULES, [JSON.stringify(rules.above), rules.kinds]);
    await journal(
      connection,
      { actor, action: 'approval.rules_set', detail: inWords(rules) },
      sealedRules({ ...rules, newest: null }),
    );
    return { ...rules, version: before.version + 1, sealed: true };
  });
}

function inWords({ above, kinds }: Pick<ApprovalRules, 'above' | 'kinds'>): string {
  const limits = above.map(({ currency, cents }) => `above ${moneyText(cents, currency)}`);
  const parts = [...(limits.length > 0 ? [...limits, 'any amount of another currency'] : []), ...kinds];
  return parts.length === 0 ? 'nothing needs a second person' : `a second person for ${parts.join(', ')}`;
}

const LIMIT: Kind<Limit> = {
  read: (text) => {
    const [currency = '', cents = ''] = text.split('=');
    const isLimit = /^[A-Z]{3}=[0-9]{1,12}$/.test(text) && isCurrency(currency);
    return isLimit && Number(cents) <= MAX_AMOUNT_CENTS ? { currency, cents: Number(cents) } : undefined;
  },
  mustBe: 'It must be a currency and an amount in its smallest unit, such as AUD=100000.',
  schema: {
    type: 'object',
    properties: {
      currency: { enum: CURRENCIES },
      cents: { type: 'integer', minimum: 0, maximum: MAX_AMOUNT_CENTS },
    },
    required: ['currency', 'cents'],
    additionalProperties: false,
  },
};

const KINDS: Kind<(SecondPersonFor | 'nothing')[]> = {
  read: (text) => {
    const named = text.split(',').map((each) => KNOWN.find((kind) => kind === each.trim()));
    return named.some((each) => each === undefined) ? undefined : (named as (SecondPersonFor | 'nothing')[]);
  },
  mustBe: `It must be a list of ${SECOND_PERSON_FOR.join(', ')}, or nothing.`,
  schema: { type: 'array', items: { enum: [...SECOND_PERSON_FOR, 'nothing'] }, maxItems: 10 },
};
const KNOWN = [...SECOND_PERSON_FOR, 'nothing'] as const;

export const RULES_SEEN = task({
  name: 'approval rules',
  help: 'show what needs a second person in this installation',
  role: 'viewer',
  scope: 'nobody',
  route: 'GET /approval-rules',
  input: {},
  run: async ({ database }: Doing) => readRules(database),
  says: (rules) =>
    rules.sealed
      ? `${sentence(inWords(rules))}.`
      : 'The rules were changed in the database: everything needs a second person until they are set again.',
});

export const RULES_SET = task({
  name: 'approval require',
  help: 'say what needs a second person; whatever makes less need one needs one itself',
  role: 'administrator',
  scope: 'installation',
  route: 'POST /approval-rules',
  fresh: true,
  secondPerson: {
    for: 'rules',
    when: async ({ database }: Doing, wish: NewRules) => loosens(database, wish),
  },
  input: {
    above: nullable(
      several(LIMIT, 200),
      '--above <limit>',
      'voids, refunds and completions by operators above it, such as AUD=100000; of any other currency, any amount (may be repeated)',
      { without: ['--no-limit', 'none of them'], excludes: '--no-limit' },
    ),
    kinds: optional(
      KINDS,
      '--for <kinds>',
      `${SECOND_PERSON_FOR.join(', ')}, with commas between; or nothing`,
    ),
  },
  run: async ({ database, actor }: Doing, wish) => setRules(database, actor, wish),
  says: (rules: ApprovalRules) => `${sentence(inWords(rules))}.`,
});

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
