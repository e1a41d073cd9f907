// The surcharge rules of merchants: set by the operator, in force within two seconds.
import { formatPercent, type SurchargeRule } from '../plugins/surcharge.js';
import type { Queryable } from '../store/database.js';
import { AdministrationError } from './administration.js';
import { type JournalAction, journal } from './journal.js';
import { CLEAR_SURCHARGES, MERCHANT_OF_SURCHARGE, SET_SURCHARGE, SHOW_SURCHARGES } from './surcharges.sql.js';

export interface SurchargeView {
  readonly scope: string;
  readonly percent: string;
  readonly from: string | null;
  readonly until: string | null;
}

export class Surcharges {
  constructor(
    private readonly database: Queryable,
    private readonly actor: string,
  ) {}

  set(merchantId: number, rules: readonly SurchargeRule[]): Promise<SurchargeView[]> {
    return this.#change('surcharge.set', merchantId, async (connection, organisationId) => {
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
    change: (connection: Queryable, organisationId: number) => Promise<void>,
  ): Promise<SurchargeView[]> {
    return this.database.transaction(async (connection) => {
      const organisationId = await organisationOf(connection, merchantId);
      await change(connection, organisationId);
      const rules = await show(connection, merchantId);
      const detail = rules.map(({ scope, percent }) => `${scope} ${percent} %`).join(', ');
      await journal(connection, { actor: this.actor, action, organisationId, merchantId, detail });
      return rules;
    });
  }
}

async function show(connection: Queryable, merchantId: number): Promise<SurchargeView[]> {
  await organisationOf(connection, merchantId);
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

async function organisationOf(connection: Queryable, merchantId: number): Promise<number> {
  const { rows } = await connection.query<{ organisationId: number }>(MERCHANT_OF_SURCHARGE, [merchantId]);
  if (rows[0] === undefined) throw new AdministrationError(`there is no merchant ${merchantId}`);
  return rows[0].organisationId;
}
