// The rules of refunds, completions and voids, compared with each other: as SQL, as predicates, and as table constraints.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  COMPLETABLE,
  MOST_COMPLETABLE,
  MOST_REFUNDABLE,
  REFUNDABLE,
  refundableFromMs,
  VOIDABLE,
} from '../../src/payments/target-rules.js';
import type { Transaction } from '../../src/payments/transaction.js';
import type { Audit, MerchantId, OrganisationId } from '../../src/values/ids.js';
import { cents } from '../../src/values/money.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';

const NOW_MS = Date.UTC(2026, 10, 15);
const DAY_MS = 86_400_000;
const TYPES = ['purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void'] as const;
const STATUSES = ['unknown', 'approved', 'declined', 'pending', 'error', 'voided'] as const;
/** The refund period of card payments. */
const TERMS = { cardDays: 120 };
const TIMES = [undefined, NOW_MS - DAY_MS, NOW_MS, NOW_MS + DAY_MS];

const ACCOUNT = { bsb: '062-000', accountNumber: '******789', accountName: 'A Customer' };

/** Every state of a row, possible or not. */
function everyTarget(): Transaction[] {
  const targets: Transaction[] = [];
  const cards = [NOW_MS, NOW_MS - 120 * DAY_MS + 1, NOW_MS - 120 * DAY_MS].map((createdMs) => ({
    createdMs,
  }));
  const methods = [...cards, { createdMs: NOW_MS - 120 * DAY_MS, bankAccount: ACCOUNT }];
  for (const transactionType of TYPES)
    for (const status of STATUSES)
      for (const refundedCents of [0, 40, 100])
        for (const completedBy of [undefined, 7 as Audit])
          for (const voidedBy of [undefined, 8 as Audit])
            for (const completableUntilMs of TIMES)
              for (const voidableUntilMs of TIMES)
                for (const method of methods)
                  targets.push({
                    organisationId: 1 as OrganisationId,
                    audit: (targets.length + 1) as Audit,
                    merchantId: 1 as MerchantId,
                    transactionType,
                    correlationId: `c-${targets.length}`,
                    ...method,
                    reference: 'r',
                    amountCents: cents(100),
                    currency: 'AUD',
                    kvps: {},
                    acquirer: 'simulator',
                    status,
                    gatewayStatusCode: status === 'unknown' ? -99 : 0,
                    refundedCents,
                    ...(completedBy !== undefined && { completedBy }),
                    ...(voidedBy !== undefined && { voidedBy }),
                    ...(completableUntilMs !== undefined && { completableUntilMs }),
                    ...(voidableUntilMs !== undefined && { voidableUntilMs }),
                  });
  return targets;
}

const TARGETS = everyTarget();
let own: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  own = await testDatabase();
  client = new pg.Client({ connectionString: own.url });
  await client.connect();
  // Without the constraints, so that every state can be tested.
  await client.query('CREATE TEMP TABLE target (LIKE transaction INCLUDING DEFAULTS)');
  await client.query(
    `INSERT INTO target (organisation_id, audit, merchant_id, created_at, amount_cents, transaction_type, status,
       gateway_status_code, currency, correlation_id, reference, acquirer, refunded_cents, completed_by, completed_cents,
       voided_by, completable_until, voidable_until, target_audit, bank_account)
     SELECT 1, audit, 1, to_timestamp("createdMs" / 1000), "amountCents", "transactionType", status, "gatewayStatusCode", 'AUD', "correlationId", 'r',
       'simulator', "refundedCents", "completedBy", CASE WHEN "completedBy" IS NULL THEN 0 ELSE 100 END, "voidedBy",
       to_timestamp("completableUntilMs" / 1000), to_timestamp("voidableUntilMs" / 1000),
       CASE WHEN "transactionType" IN ('completion', 'refund', 'void') THEN 1 END, "bankAccount"
     FROM json_to_recordset($1) AS made(audit integer, "amountCents" bigint, "transactionType" text, status text,
       "gatewayStatusCode" smallint, "correlationId" text, "refundedCents" bigint, "completedBy" integer,
       "voidedBy" integer, "completableUntilMs" float8, "voidableUntilMs" float8, "createdMs" float8, "bankAccount" json)`,
    [JSON.stringify(TARGETS)],
  );
});
afterAll(async () => {
  await client.end();
  await own.drop();
});

/** The audits of the rows for which the SQL holds. */
async function rowsWith(sql: string): Promise<number[]> {
  const { rows } = await client.query<{ audit: number }>(
    `SELECT audit FROM target, (SELECT to_timestamp($1::float8 / 1000) AS created_at,
       to_timestamp($2::float8 / 1000) AS refundable_from) asked WHERE ${sql} ORDER BY audit`,
    [NOW_MS, refundableFromMs(NOW_MS, TERMS)],
  );
  return rows.map(({ audit }) => audit);
}

test.each([
  ['refund', REFUNDABLE],
  ['completion', COMPLETABLE],
  ['void', VOIDABLE],
])('%s: the row and the predicate allow the same, whatever the state', async (_, rule) => {
  const allowed = TARGETS.filter((target) => rule.allows(target, NOW_MS, TERMS)).map(({ audit }) => audit);
  expect(allowed.length).toBeGreaterThan(0);
  expect(allowed.length).toBeLessThan(TARGETS.length / 2);
  expect(await rowsWith(rule.sql)).toEqual(allowed);
});

test.each([
  ['refund', MOST_REFUNDABLE],
  ['completion', MOST_COMPLETABLE],
])('%s: the row and the function leave the same amount', async (_, limit) => {
  for (const most of [0, 60, 100]) {
    const left = TARGETS.filter((target) => limit.cents(target) === most).map(({ audit }) => audit);
    expect(await rowsWith(`${limit.sql} = ${most}`)).toEqual(left);
  }
});

test.each([
  ['refund', REFUNDABLE, MOST_REFUNDABLE, 'refunded_cents = refunded_cents + 60'],
  ['completion', COMPLETABLE, MOST_COMPLETABLE, 'completed_by = 9, completed_cents = 60'],
  ['void', VOIDABLE, undefined, 'voided_by = 9'],
])(
  '%s of what the table can hold → no constraint refuses what the rule allows',
  async (_, rule, limit, reserve) => {
    await client.query('CREATE TEMP TABLE held (LIKE transaction INCLUDING DEFAULTS INCLUDING CONSTRAINTS)');
    try {
      const { rows: checks } = await client.query<{ holds: string }>(
        `SELECT string_agg(pg_get_expr(conbin, conrelid), ' AND ') AS holds FROM pg_constraint
       WHERE conrelid = 'transaction'::regclass AND contype = 'c'`,
      );
      // A broken rule raises an error.
      await client.query(
        `CREATE OR REPLACE FUNCTION pg_temp.keeps_the_rules(row_of target) RETURNS boolean LANGUAGE plpgsql AS $$
         BEGIN RETURN (SELECT ${checks[0]?.holds} FROM (SELECT row_of.*) AS one);
         EXCEPTION WHEN check_violation THEN RETURN false; END $$`,
      );
      const allowed = await rowsWith(
        `${rule.sql} AND pg_temp.keeps_the_rules(target)${limit === undefined ? '' : ` AND 60 <= ${limit.sql}`}`,
      );
      expect(allowed.length).toBeGreaterThan(0);
      await client.query('INSERT INTO held SELECT * FROM target WHERE audit = ANY ($1)', [allowed]);
      expect((await client.query(`UPDATE held SET ${reserve}`)).rowCount).toBe(allowed.length);
    } finally {
      await client.query('DROP TABLE held');
    }
  },
);
