// The rules of approvals: what needs a second person in this installation, on the console and on the command line alike. They are sealed,
// and in force only at the version that the journal names last. Rules that somebody changed in the database let nothing pass by itself.
import { journal } from '../../journal/journal.js';
import { type CredentialKey, sameBytes } from '../../organisations/users/credentials.js';
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

interface RulesRow extends Pick<ApprovalRules, 'above'> {
  readonly kinds: SecondPersonFor[];
  readonly version: number;
  readonly seal: Buffer;
  readonly journalled: string | null;
}

type NoRules = { readonly version: null; readonly journalled: string | null };

/** Until somebody sets others. */
const AT_FIRST = { above: [], kinds: [...SECOND_PERSON_FOR], version: 0, sealed: true } as const;
/** What is not as it was set counts for nothing, and the strictest is in force. */
const STRICTEST = { ...AT_FIRST, above: [{ currency: 'AUD', cents: 0 }], sealed: false } as const;

export async function readRules(database: Queryable, key: CredentialKey): Promise<ApprovalRules> {
  const [row] = (await database.query<RulesRow | NoRules>(FIND_RULES)).rows as [RulesRow | NoRules];
  if (row.version === null) return row.journalled === null ? AT_FIRST : STRICTEST;
  const { above, kinds, version, seal, journalled } = row;
  // guard(second person: earlier rules do not come back): journalled?.startsWith(`version ${version}:`) === true && ⇒
  const isInForce = journalled?.startsWith(`version ${version}:`) === true && isSealed(key, row, seal);
  return isInForce ? { above, kinds, version, sealed: true } : STRICTEST;
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
export async function loosens(database: Queryable, key: CredentialKey, wish: NewRules): Promise<boolean> {
  const before = await readRules(database, key);
  const { above, kinds } = after(before, wish);
  if (!before.sealed || before.kinds.some((kind) => !kinds.includes(kind))) return true;
  const isLimited = before.above.length > 0;
  if (isLimited && above.length === 0) return true;
  // A limit that is named for the first time lets amounts pass that needed somebody, as long as other currencies had one.
  return isLimited && above.some(({ currency, cents }) => cents > (limitOf(before.above, currency) ?? 0));
}

export async function setRules(
  database: Queryable,
  actor: string,
  key: CredentialKey,
  wish: NewRules,
): Promise<ApprovalRules> {
  const currencies = (wish.above ?? []).map(({ currency }) => currency);
  if (new Set(currencies).size < currencies.length) refuse('approval_rules_contradict');
  return database.transaction(async (connection) => {
    await connection.query(LOCK_RULES);
    const before = await readRules(connection, key);
    const [row] = (await connection.query<RulesRow | NoRules>(FIND_RULES)).rows;
    // Greater than all there were: also where earlier rules were put back.
    const journalled = Number(/^version (\d+):/.exec(row?.journalled ?? '')?.[1] ?? 0);
    const rules = { ...after(before, wish), version: Math.max(row?.version ?? 0, journalled) + 1 };
    const { above, kinds, version } = rules;
    await connection.query(STORE_RULES, [JSON.stringify(above), kinds, version, sealOf(key, rules)]);
    const detail = `version ${version}: ${inWords(rules)}`;
    await journal(connection, { actor, action: 'approval.rules_set', detail });
    return { ...rules, sealed: true };
  });
}

function sealOf(key: CredentialKey, { above, kinds, version }: Omit<ApprovalRules, 'sealed'>): Buffer {
  // In an order of their own: the database keeps members of JSON in another.
  const limits = above.map(({ currency, cents }) => [currency, cents]);
  return key.macOf(['tollgate rules of approvals', limits, kinds, version]);
}

function isSealed(key: CredentialKey, rules: Omit<ApprovalRules, 'sealed'>, seal: Buffer): boolean {
  return sameBytes(sealOf(key, rules), seal);
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

type WithKey = Doing<{ key(): Promise<CredentialKey> }>;

export const RULES_SEEN = task({
  name: 'approval rules',
  help: 'show what needs a second person in this installation',
  role: 'viewer',
  scope: 'nobody',
  route: 'GET /approval-rules',
  input: {},
  run: async ({ database, means }: WithKey) => readRules(database, await means.key()),
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
    when: async ({ database, means }: WithKey, wish: NewRules) => loosens(database, await means.key(), wish),
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
  run: async ({ database, actor, means }: WithKey, wish) =>
    setRules(database, actor, await means.key(), wish),
  says: (rules: ApprovalRules) => `${sentence(inWords(rules))}.`,
});

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
