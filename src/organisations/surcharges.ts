// The surcharge rules of merchants: set by the operator, in force within two seconds. This room owns their table.
import { type JournalAction, journal } from '../journal/journal.js';
import { formatPercent, type SurchargeRule, type SurchargeScope } from '../plugins/surcharge.js';
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import { CLEAR_SURCHARGES, MERCHANT_OF_SURCHARGE, SET_SURCHARGE, SHOW_SURCHARGES } from './surcharges.sql.js';

export interface SurchargeView {
  readonly scope: string;
  readonly percent: string;
  readonly from: string | null;
  readonly until: string | null;
}

export interface SurchargeWish {
  /** The operator says that the merchant may surcharge cards whose schemes may forbid it. */
  readonly permitted?: boolean;
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
    const surcharging = await merchantOf(connection, merchant);
    await work(connection, surcharging);
    const rules = await showSurcharges(connection, merchant);
    const detail = rules.map(({ scope, percent }) => `${scope} ${percent} %`).join(', ');
    const { organisationId, merchantId } = surcharging;
    await journal(connection, { actor: operator, action, organisationId, merchantId, detail });
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
