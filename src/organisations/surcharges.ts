// The surcharge rules of merchants: set by the operator, in force within two seconds. This room owns their table.
import type { JournalAction } from '../journal/journal.js';
import {
  formatPercent,
  parsePercent,
  SURCHARGE_SCOPES,
  type SurchargeRule,
  type SurchargeScope,
} from '../plugins/surcharge.js';
import type { Queryable } from '../postgres/database.js';
import { DAY, FLAG, ID, type Kind } from '../tasks/kinds.js';
import { needed, optional, task } from '../tasks/task.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import { journalMerchant, lockMerchant } from './sealed-merchant.js';
import { CLEAR_SURCHARGES, MERCHANT_OF_SURCHARGE, SET_SURCHARGE, SHOW_SURCHARGES } from './surcharges.sql.js';

export interface SurchargeView {
  readonly scope: string;
  readonly percent: string;
  readonly from: string | null;
  readonly until: string | null;
}

export interface SurchargeWish {
  /** The operator says that the merchant may surcharge cards whose schemes may forbid it. */
  readonly permitted?: boolean | undefined;
  /** First and last day, for rules that have none of their own. */
  readonly from?: string | undefined;
  readonly until?: string | undefined;
}

interface SurchargingMerchant {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
}

/** What eftpos, Visa and Mastercard may forbid in Australia since 1 October 2026. */
const PERHAPS_FORBIDDEN: readonly SurchargeScope[] = [
  'default',
  'method:creditcard',
  'card:eftpos',
  'card:visa',
  'card:mastercard',
];

/** A rule for the same thing from the same day is replaced, the others stay. */
export async function setSurcharges(
  database: Queryable,
  operator: string,
  merchant: number,
  rules: readonly SurchargeRule[],
  { permitted = false, from, until }: SurchargeWish = {},
): Promise<SurchargeView[]> {
  const period = { from: from ?? null, until: until ?? null };
  const dated = rules.map((rule) => ({ ...period, ...rule }));
  for (const each of [period, ...dated]) checkPeriod(each);
  if (rules.length === 0) refuse('surcharge_without_rules');
  return change(
    database,
    operator,
    'surcharge.set',
    merchant,
    async (connection, { organisationId, mode }) => {
      if (mode === 'live' && !permitted) refuseWhatMayBeForbidden(rules);
      for (const rule of dated) {
        const values = [organisationId, merchant, rule.scope, rule.thousandths, rule.from, rule.until];
        await connection.query(SET_SURCHARGE, values);
      }
    },
  );
}

export async function showSurcharges(database: Queryable, merchant: number): Promise<SurchargeView[]> {
  await merchantOf(database, merchant);
  const { rows } = await database.query<Omit<SurchargeView, 'percent'> & { thousandths: number }>(
    SHOW_SURCHARGES,
    [merchant],
  );
  return rows.map(({ scope, thousandths, from, until }) => ({
    scope,
    percent: formatPercent(thousandths),
    from,
    until,
  }));
}

/** Takes every rule away: without rules the plugin is off. */
export function removeSurcharges(
  database: Queryable,
  operator: string,
  merchant: number,
): Promise<SurchargeView[]> {
  return change(database, operator, 'surcharge.off', merchant, async (connection) => {
    await connection.query(CLEAR_SURCHARGES, [merchant]);
  });
}

function change(
  database: Queryable,
  operator: string,
  action: JournalAction,
  merchant: number,
  work: (connection: Queryable, merchant: SurchargingMerchant) => Promise<void>,
): Promise<SurchargeView[]> {
  return database.transaction(async (connection) => {
    await lockMerchant(connection, merchant);
    await work(connection, await merchantOf(connection, merchant));
    const rules = await showSurcharges(connection, merchant);
    const detail = rules.map(({ scope, percent }) => `${scope} ${percent} %`).join(', ');
    await journalMerchant(connection, { actor: operator, action, detail }, merchant);
    return rules;
  });
}

async function merchantOf(connection: Queryable, merchant: number): Promise<SurchargingMerchant> {
  const { rows } = await connection.query<SurchargingMerchant>(MERCHANT_OF_SURCHARGE, [merchant]);
  return rows[0] ?? refuse('merchant_not_found', { merchant });
}

function checkPeriod({ from, until }: { from: string | null; until: string | null }): void {
  if (from !== null && until !== null && from > until) {
    refuse('surcharge_ends_before_it_begins', { from, until });
  }
}

function refuseWhatMayBeForbidden(rules: readonly SurchargeRule[]): void {
  const scopes = rules
    // A rule of 0 % adds nothing.
    .filter(({ scope, thousandths }) => thousandths > 0 && PERHAPS_FORBIDDEN.includes(scope))
    .map(({ scope }) => scope);
  if (scopes.length > 0) refuse('surcharge_perhaps_forbidden', { scopes });
}

const PERCENT = {
  read: parsePercent,
  mustBe: 'It must be a percentage from 0 to 100 with at most three decimals.',
  schema: { type: 'string', pattern: '^(100(\\.0{1,3})?|0?[0-9]{1,2}(\\.[0-9]{1,3})?)$' },
} satisfies Kind<number>;

type Scoped = Pick<SurchargeRule, 'scope' | 'thousandths'>;

/** `amex=2.9` of `card`, added to earlier ones. */
function scoped(kind: 'method' | 'card'): Kind<readonly Scoped[]> {
  const parts = (text: string) => {
    const [name = '', percent = '', ...rest] = text.split('=');
    const scope = `${kind}:${name}` as SurchargeScope;
    return { name, percent, scope, isKnown: rest.length === 0 && SURCHARGE_SCOPES.includes(scope) };
  };
  const isTaken = (wanted: SurchargeScope, earlier: readonly Scoped[]) =>
    earlier.some(({ scope }) => scope === wanted);
  const names = SURCHARGE_SCOPES.filter((each) => each.startsWith(kind)).map((each) =>
    each.slice(kind.length + 1),
  );
  return {
    read: (text, earlier = []) => {
      const { percent, scope, isKnown } = parts(text);
      const thousandths = parsePercent(percent);
      if (!isKnown || thousandths === undefined || isTaken(scope, earlier)) return undefined;
      return [...earlier, { scope, thousandths }];
    },
    mustBe: (text, earlier = []) => {
      const { name, scope, isKnown } = parts(text);
      if (!isKnown)
        return `It must be a name, an equals sign and a percentage; names are ${names.join(', ')}.`;
      return isTaken(scope, earlier) ? `There are two percentages for ${name}.` : PERCENT.mustBe;
    },
    schema: {},
    repeats: true,
  };
}

interface GivenRule {
  readonly scope: SurchargeScope;
  readonly percent: string;
  readonly from?: string;
  readonly until?: string;
}

/** As the page sends them. */
const RULES: Kind<readonly GivenRule[]> = {
  read: () => undefined,
  mustBe: '',
  schema: {
    type: 'array',
    minItems: 1,
    maxItems: 100,
    items: {
      type: 'object',
      properties: {
        scope: { enum: [...SURCHARGE_SCOPES] },
        percent: PERCENT.schema,
        from: DAY.schema,
        until: DAY.schema,
      },
      required: ['scope', 'percent'],
    },
  },
};

const MERCHANT = needed(ID, '--merchant <id>', 'the merchant', { names: 'merchants' });

export const SURCHARGES = {
  name: 'surcharge',
  help: 'a percentage that is added to payments',
  tasks: [
    task({
      name: 'surcharge set',
      help: 'set rules; the most specific one in force applies: card type, then payment method, then default',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /surcharges/:merchant/set',
      fresh: true,
      input: {
        merchant: MERCHANT,
        rules: needed(RULES, '', '', { only: 'console' }),
        default: optional(PERCENT, '--default <percent>', 'for everything that no other rule is for', {
          only: 'command',
        }),
        method: optional(
          scoped('method'),
          '--method <name=percent>',
          'for a payment method, creditcard or bankaccount (may be repeated)',
          { default: [], only: 'command' },
        ),
        card: optional(scoped('card'), '--card <type=percent>', 'for a card type (may be repeated)', {
          default: [],
          only: 'command',
        }),
        from: optional(DAY, '--from <date>', 'the first day, in Sydney', { only: 'command' }),
        until: optional(DAY, '--until <date>', 'the last day, in Sydney', { only: 'command' }),
        permitted: optional(
          FLAG,
          '--i-may',
          'this live merchant may surcharge eftpos, Visa and Mastercard, whatever their rules in Australia say',
        ),
      },
      run: (
        { database, actor },
        { merchant, rules = [], default: rest, method = [], card = [], ...wish },
      ) => {
        const general: Scoped[] = rest === undefined ? [] : [{ scope: 'default', thousandths: rest }];
        const given = rules.map(({ percent, ...rule }) => ({
          ...rule,
          thousandths: parsePercent(percent) as number,
        }));
        return setSurcharges(database, actor, merchant, [...given, ...general, ...method, ...card], wish);
      },
    }),
    task({
      name: 'surcharge show',
      help: 'show the rules of a merchant',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /surcharges',
      input: { merchant: MERCHANT },
      run: ({ database }, { merchant }) => showSurcharges(database, merchant),
    }),
    task({
      name: 'surcharge off',
      help: 'take all rules of a merchant away',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /surcharges/:merchant/off',
      fresh: true,
      input: { merchant: MERCHANT },
      run: ({ database, actor }, { merchant }) => removeSurcharges(database, actor, merchant),
    }),
  ],
} as const;
