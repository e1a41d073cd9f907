// Named attacks: the statements that an intruder sends, and what the intruder then tries to gain through the interface.
import type { Chance } from '../../testkit/chance.js';
import { type Image, quoted, type Row, type Rows } from './rows.js';
import type { Thief } from './thief.js';

export interface Attack {
  /** The rows that it may change. */
  readonly rows: readonly Rows[];
  /** In one transaction. */
  readonly statements: readonly string[];
  /** While the change is there: what was gained by it, if anything was. */
  readonly exploit?: () => Promise<string | undefined>;
}

/** What the intruder can find out in the database, and do as a shop. */
export interface Knowledge {
  readonly thief: Thief;
  readonly chance: Chance;
  /** The merchant that pays over a host, and the one that pays over the simulator. */
  readonly merchants: { readonly host: number; readonly simulator: number };
  readonly ask: (text: string, values?: unknown[]) => Promise<Row[]>;
  /** A row as it was before operators changed it. */
  readonly earlier: (table: string, is: (row: Row) => boolean) => Image | undefined;
  /** As the shop: whether a refund of the whole amount is approved. */
  readonly refunds: (transaction: Row) => Promise<boolean>;
  /** As the shop: the status or the error code of a purchase. */
  readonly pays: (virtualPan: string) => Promise<string>;
}

type Making = (knowledge: Knowledge) => Promise<Attack | undefined>;

const HOST = `name = 'host'`;
const JOURNALLED =
  'organisation_id, merchant_id, actor, action, customer_id, token_id, audit, correlation_id, detail, address';

/** No trader works on these any more. */
const OLD = `t.reference LIKE 'old-%'`;

const oneOf =
  (is: string, change: (row: Row, knowledge: Knowledge) => Omit<Attack, 'rows'>): Making =>
  async (knowledge) => {
    const found = await knowledge.ask(`SELECT t.* FROM transaction t WHERE ${OLD} AND ${is} ORDER BY audit`);
    if (found.length === 0) return undefined;
    const row = knowledge.chance.pick(found);
    return { ...change(row, knowledge), rows: [{ table: 'transaction', where: whereOf(row) }] };
  };

const whereOf = ({ organisation_id, audit }: Row) =>
  `organisation_id = ${organisation_id} AND audit = ${audit}`;

const ownLink = ({ thief }: Knowledge) => `
  INSERT INTO acquirer (name, kind, mode, host, port, dialect)
  VALUES ('mine', 'iso8583', 'test', '127.0.0.1', ${thief.port}, 'as2805') ON CONFLICT DO NOTHING`;

const PURCHASE = `transaction_type = 'purchase'`;

export const ATTACKS: Readonly<Record<string, Making>> = {
  'the link leads to the thief': async ({ thief }) => ({
    rows: [{ table: 'acquirer', where: HOST }],
    statements: [
      `UPDATE acquirer SET host = '127.0.0.1', port = ${thief.port}, tls = false, mac_keys = NULL, key_encryption_key = NULL
       WHERE ${HOST}`,
    ],
  }),

  'a merchant pays over a link of the thief’s': async (knowledge) => ({
    rows: [
      { table: 'acquirer', where: `name = 'mine'` },
      { table: 'merchant', where: `id = ${knowledge.merchants.simulator}` },
      { table: 'acquirer_terminal', where: `merchant_id = ${knowledge.merchants.simulator}` },
    ],
    statements: [
      ownLink(knowledge),
      `UPDATE merchant SET acquirer = 'mine', acceptor_id = 'MINE', terminals = '{M1}' WHERE id = ${knowledge.merchants.simulator}`,
    ],
  }),

  'a route leads to a link of the thief’s': async (knowledge) => ({
    rows: [
      { table: 'acquirer', where: `name = 'mine'` },
      { table: 'route', where: `merchant_id = ${knowledge.merchants.host}` },
      { table: 'merchant', where: `id = ${knowledge.merchants.host}` },
      { table: 'acquirer_terminal', where: `merchant_id = ${knowledge.merchants.host}` },
    ],
    statements: [
      ownLink(knowledge),
      `UPDATE route SET acquirer = 'mine' WHERE merchant_id = ${knowledge.merchants.host}`,
      `UPDATE merchant SET routes_version = routes_version + 1 WHERE id = ${knowledge.merchants.host}`,
    ],
  }),

  'an approved payment is in doubt again': oneOf(`status = 'approved' AND ${PURCHASE}`, (row) => ({
    statements: [
      `UPDATE transaction SET status = 'unknown', gateway_status_code = -99, resolve_at = now() WHERE ${whereOf(row)}`,
    ],
  })),

  'a declined payment is in doubt again': oneOf(`status IN ('declined', 'error') AND ${PURCHASE}`, (row) => ({
    statements: [
      `UPDATE transaction SET status = 'unknown', gateway_status_code = -99, resolve_at = now() WHERE ${whereOf(row)}`,
    ],
  })),

  'an approved payment is to be reversed': oneOf(`status = 'approved' AND ${PURCHASE}`, (row) => ({
    statements: [
      `UPDATE transaction SET status = 'unknown', gateway_status_code = -99, reversing = true, resolve_at = now()
       WHERE ${whereOf(row)}`,
    ],
  })),

  'the seal of an outcome is taken away, too': oneOf(`status = 'approved' AND ${PURCHASE}`, (row) => ({
    statements: [
      `UPDATE transaction SET status = 'unknown', gateway_status_code = -99, reversing = true, resolve_at = now(), outcome_seal = NULL
       WHERE ${whereOf(row)}`,
    ],
  })),

  'a reversal is to be repeated': async ({ ask, chance }) => {
    const found = await ask(`
      SELECT t.organisation_id, t.audit, g.installation || '-' || t.organisation_id || '-' || t.audit AS reference
      FROM transaction t, gateway g WHERE ${OLD} AND t.acquirer = 'host' AND t.status = 'approved' AND t.${PURCHASE}
      ORDER BY audit`);
    if (found.length === 0) return undefined;
    const { organisation_id, reference } = chance.pick(found);
    return {
      rows: [{ table: 'acquirer_reversal', where: `reference = ${quoted(String(reference))}` }],
      statements: [
        `INSERT INTO acquirer_reversal (organisation_id, acquirer, reference, stan, again_at)
         VALUES (${organisation_id}, 'host', ${quoted(String(reference))}, 4711, now())`,
      ],
    };
  },

  'what was refunded is refunded again': oneOf(
    `status = 'approved' AND ${PURCHASE} AND refunded_cents > 0`,
    (row, { refunds }) => ({
      statements: [`UPDATE transaction SET refunded_cents = 0 WHERE ${whereOf(row)}`],
      exploit: async () => ((await refunds(row)) ? `audit ${row.audit} was refunded once more` : undefined),
    }),
  ),

  'what was declined is refunded': oneOf(`status = 'declined' AND ${PURCHASE}`, (row, { refunds }) => ({
    statements: [
      `UPDATE transaction SET status = 'approved', gateway_status_code = 0, response_code = '00' WHERE ${whereOf(row)}`,
    ],
    exploit: async () => ((await refunds(row)) ? `audit ${row.audit} was declined, and refunded` : undefined),
  })),

  'the journal is forged behind its chain': async ({ ask }) => {
    const [last] = await ask('SELECT coalesce(max(id), 0) AS id FROM journal');
    return {
      rows: [{ table: 'journal', where: `id > ${last?.id} AND actor = 'operator:nobody'` }],
      statements: [
        `UPDATE journal_chain SET chained_up_to = chained_up_to + 1000000`,
        `INSERT INTO journal (actor, action) VALUES ('operator:nobody', 'merchant.changed')`,
        `UPDATE journal_chain SET chained_up_to = chained_up_to - 1000000`,
      ],
    };
  },

  'an entry of the journal is copied': async ({ ask, chance }) => {
    const entries = await ask(`SELECT id FROM journal WHERE mark IS NOT NULL ORDER BY id`);
    const [last] = await ask('SELECT max(id) AS id FROM journal');
    const { id } = chance.pick(entries);
    return {
      rows: [
        {
          table: 'journal',
          where: `id > ${last?.id} AND mark = (SELECT mark FROM journal WHERE id = ${id})`,
        },
      ],
      statements: [
        `INSERT INTO journal (at, ${JOURNALLED}, mark) SELECT at, ${JOURNALLED}, mark FROM journal WHERE id = ${id}`,
      ],
    };
  },

  'the journal says that a token was deleted': async ({ ask, chance, pays }) => {
    const tokens = await ask(
      `SELECT * FROM token WHERE sealed IS NOT NULL AND preferred_name = 'victim' ORDER BY id`,
    );
    const [last] = await ask('SELECT max(id) AS id FROM journal');
    if (tokens.length === 0) return undefined;
    const token = chance.pick(tokens);
    return {
      rows: [
        { table: 'journal', where: `id > ${last?.id} AND actor = 'operator:nobody'` },
        { table: 'token', where: `organisation_id = ${token.organisation_id} AND id = ${token.id}` },
      ],
      statements: [
        `INSERT INTO journal (organisation_id, merchant_id, customer_id, token_id, actor, action)
         VALUES (${token.organisation_id}, ${token.merchant_id}, ${token.customer_id}, ${token.id}, 'operator:nobody', 'token.deleted')`,
      ],
      exploit: async () => {
        const code = await pays(String(token.virtual_pan));
        return code === 'token_not_usable'
          ? `token ${token.id} is not usable any more: the entry was obeyed`
          : undefined;
      },
    };
  },

  'a removed operator is back': async ({ earlier }) => {
    const before = earlier('operator', ({ name }) => name === 'removed');
    if (before === undefined) return undefined;
    const { passkeys, version, seal } = before.row;
    return {
      rows: [{ table: 'operator', where: `name = 'removed'` }],
      statements: [
        `UPDATE operator SET removed_at = NULL, passkeys = ${quoted(JSON.stringify(passkeys))}, version = ${version},
           seal = ${quoted(String(seal))} WHERE name = 'removed'`,
      ],
    };
  },

  'a revoked user is back': async ({ earlier }) => {
    const before = earlier('gateway_user', ({ username }) => username === 'revoked');
    if (before === undefined) return undefined;
    const { version, seal } = before.row;
    return {
      rows: [{ table: 'gateway_user', where: `username = 'revoked'` }],
      statements: [
        `UPDATE gateway_user SET revoked_at = NULL, version = ${version}, seal = ${quoted(String(seal))},
           secret_tag = ${quoted(String(before.row.secret_tag))} WHERE username = 'revoked'`,
      ],
    };
  },

  'a user gets every permission': async () => ({
    rows: [{ table: 'gateway_user', where: `username = 'reader'` }],
    statements: [
      `UPDATE gateway_user SET permissions = '{read,payments,refunds,standalone-refunds,vault}' WHERE username = 'reader'`,
    ],
  }),

  'a user under another name': async () => ({
    rows: [{ table: 'gateway_user', where: `username = 'made-up'` }],
    statements: [
      `INSERT INTO gateway_user (username, organisation_id, merchant_id, secret_tag, seal)
       SELECT 'made-up', organisation_id, merchant_id, secret_tag, seal FROM gateway_user WHERE username = 'reader'`,
    ],
  }),

  'a viewer becomes an administrator': async () => ({
    rows: [{ table: 'operator', where: `name = 'viewer'` }],
    statements: [`UPDATE operator SET role = 'administrator' WHERE name = 'viewer'`],
  }),

  'a session becomes an administrator’s': async () => ({
    rows: [{ table: 'operator_session', where: `operator IN ('viewer', 'administrator')` }],
    statements: [`UPDATE operator_session SET operator = 'administrator' WHERE operator = 'viewer'`],
  }),

  'sessions are proved anew': async () => ({
    rows: [{ table: 'operator_session', where: 'true' }],
    statements: [`UPDATE operator_session SET proved_at = now(), seen_at = now()`],
  }),

  'an operator’s session does not end': async () => ({
    rows: [{ table: 'operator_session', where: `operator = 'viewer'` }],
    statements: [
      `UPDATE operator_session SET ends_at = ends_at + interval '1 year' WHERE operator = 'viewer'`,
    ],
  }),

  'the bank of a merchant is gone': async () => ({
    rows: [{ table: 'direct_entry', where: 'true' }],
    statements: ['DELETE FROM direct_entry'],
  }),

  'the routes of a merchant are gone': async ({ merchants }) => ({
    rows: [
      { table: 'route', where: `merchant_id = ${merchants.host}` },
      { table: 'acquirer_terminal', where: `merchant_id = ${merchants.host}` },
    ],
    statements: [`DELETE FROM route WHERE merchant_id = ${merchants.host}`],
  }),

  'the journal gets another key': async () => ({
    rows: [{ table: 'installation_key', where: `name = 'journal'` }],
    statements: [`DELETE FROM installation_key WHERE name = 'journal'`],
  }),

  'webhooks go to the thief': async ({ thief }) => ({
    rows: [{ table: 'webhook_endpoint', where: 'true' }],
    statements: [`UPDATE webhook_endpoint SET url = ${quoted(thief.url)}`],
  }),
};
