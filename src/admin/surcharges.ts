// The surcharge rules of merchants: set by the operator, in force within two seconds.

import { type JournalAction, journal } from '../journal/journal.js';
import { formatPercent, type SurchargeRule, type SurchargeScope } from '../plugins/surcharge.js';
import type { Queryable } from '../postgres/database.js';
import { AdministrationError } from '../values/administration-error.js';
import type { Mode } from '../values/mode.js';
import { CLEAR_SURCHARGES, MERCHANT_OF_SURCHARGE, SET_SURCHARGE, SHOW_SURCHARGES } from './surcharges.sql.js';

export interface SurchargeView {
  readonly scope: string;
  readonly percent: string;
  readonly from: string | null;
  readonly until: string | null;
}

/** What eftpos, Visa and Mastercard may forbid in Australia since 1 October 2026. */
const PERHAPS_FORBIDDEN: readonly SurchargeScope[] = [
  'default',
  'method:creditcard',
  'card:eftpos',
  'card:visa',
  'card:mastercard',
];

/** A live merchant would surcharge cards whose schemes may forbid it, and nobody has said that it may. */
export class SurchargePerhapsForbidden extends AdministrationError {}

export class Surcharges {
  constructor(
    private readonly database: Queryable,
    private readonly actor: string,
  ) {}

  /** `permitted`: the operator says that the merchant may surcharge cards whose schemes may forbid it. */
  set(
    merchantId: number,
    rules: readonly SurchargeRule[],
    { permitted = false }: { permitted?: boolean } = {},
  ): Promise<SurchargeView[]> {
    return this.#change('surcharge.set', merchantId, async (connection, { organisationId, mode }) => {
      if (mode === 'live' && !permitted) refuseWhatMayBeForbidden(rules);
      for (const { scope, thousandths, from, until } of rules) {
        await connection.query(SET_SURCHARGE, [
          organisationId,
          merchantId,
          scope,
          thousandths,
          from ?? null,
          until ?? null,
        ]);
      }
    });
  }

  show(merchantId: number): Promise<SurchargeView[]> {
    return show(this.database, merchantId);
  }

  /** Without rules the plugin is off. */
  off(merchantId: number): Promise<SurchargeView[]> {
    return this.#change('surcharge.off', merchantId, async (connection) => {
      await connection.query(CLEAR_SURCHARGES, [merchantId]);
    });
  }

  #change(
    action: JournalAction,
    merchantId: number,
    change: (connection: Queryable, merchant: SurchargingMerchant) => Promise<void>,
  ): Promise<SurchargeView[]> {
    return this.database.transaction(async (connection) => {
      const merchant = await merchantOf(connection, merchantId);
      const { organisationId } = merchant;
      await change(connection, merchant);
      const rules = await show(connection, merchantId);
      const detail = rules.map(({ scope, percent }) => `${scope} ${percent} %`).join(', ');
      await journal(connection, { actor: this.actor, action, organisationId, merchantId, detail });
      return rules;
    });
  }
}

async function show(connection: Queryable, merchantId: number): Promise<SurchargeView[]> {
  await merchantOf(connection, merchantId);
  const { rows } = await connection.query<Omit<SurchargeView, 'percent'> & { thousandths: number }>(
    SHOW_SURCHARGES,
    [merchantId],
  );
  return rows.map(({ scope, thousandths, from, until }) => ({
    scope,
    percent: formatPercent(thousandths),
    from,
    until,
  }));
}

interface SurchargingMerchant {
  readonly organisationId: number;
  readonly mode: Mode;
}

async function merchantOf(connection: Queryable, merchantId: number): Promise<SurchargingMerchant> {
  const { rows } = await connection.query<SurchargingMerchant>(MERCHANT_OF_SURCHARGE, [merchantId]);
  if (rows[0] === undefined) throw new AdministrationError(`there is no merchant ${merchantId}`);
  return rows[0];
}

function refuseWhatMayBeForbidden(rules: readonly SurchargeRule[]): void {
  const forbidden = rules
    // A rule of 0 % adds nothing.
    .filter(({ scope, thousandths }) => thousandths > 0 && PERHAPS_FORBIDDEN.includes(scope))
    .map(({ scope }) => scope);
  if (forbidden.length === 0) return;
  throw new SurchargePerhapsForbidden(
    `since 1 October 2026 eftpos, Visa and Mastercard may forbid surcharges in Australia (here: ${forbidden.join(', ')})`,
  );
}
