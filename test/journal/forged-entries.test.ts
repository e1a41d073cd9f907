// Somebody who has a login of the database, and not the key: what they insert into the journal decides nothing and is noticed, and what they
// change about its chain is noticed.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifySeals } from '../../src/installation/seals.js';
import { verifyJournal } from '../../src/journal/journal-tasks.js';
import { runHere } from '../../testkit/command-here.js';
import { LOGINS, type TestGateway, testGateway } from '../../testkit/gateway.js';
import { scrape } from '../../testkit/scrape.js';
import { type Operator, operatorOf } from '../../testkit/sealed-rows.js';
import { cardAccount, type Vault, vaultOf } from '../../testkit/vault-client.js';
import { ChainedJournal } from './chained-journal.js';

describe.each(LOGINS)('as %s', (role) => {
  describe('what decides about tokens', () => {
    let gateway: TestGateway;
    let vault: Vault;
    let operator: Operator;
    let intruder: pg.Client;
    beforeAll(async () => {
      gateway = await testGateway();
      vault = vaultOf(gateway.api);
      operator = await operatorOf(gateway);
      intruder = new pg.Client(gateway.databaseUrl);
      await intruder.connect();
      await intruder.query(`SET ROLE ${role}`);
    });
    afterAll(async () => {
      await intruder.end();
      await operator.close();
      await gateway.close();
    });

    const forge = (tokenId: number, action: string, detail: string | null, mark: string | null) =>
      intruder.query(
        `INSERT INTO journal (organisation_id, merchant_id, actor, action, token_id, detail, mark)
           VALUES (1, 1, 'user:owner', $2, $1, $3, $4::bytea)`,
        [tokenId, action, detail, mark],
      );
    const pays = async (pan: string) => (await gateway.api.purchase({ pan })).status;
    const problemsOf = async (id: number) => {
      const { problems } = await verifySeals(
        operator.database,
        'operator:test',
        operator.provider,
        gateway.credentialKey,
      );
      return problems.filter(({ where }) => where === `token ${id}`).map(({ problem }) => problem);
    };

    test.each([
      ['a deletion without a MAC', 'token.deleted', null, null],
      ['a deletion with a MAC of one’s own', 'token.deleted', null, `\\x${'ab'.repeat(28)}`],
      ['another seal', 'token.updated', 'account, seal 9', `\\x${'cd'.repeat(28)}`],
      ['a seal with a number that is none', 'token.updated', `seal ${'9'.repeat(400)}`, null],
      // catches(journal: an entry that Tollgate did not write decides nothing)
    ] as const)(
      '%s is forged → the token pays, and the forgery is logged and found',
      async (_, action, detail, mark) => {
        const token = await vault.newToken();
        const account = cardAccount({ 'CARD.PAN': '5555555555554444' });
        expect((await vault.changeToken(token.customerId, token.id, { account })).status).toBe(200);
        await forge(token.id, action, detail, mark);
        expect(await pays(token.virtualPan)).toBe(201);
        if (detail !== null && detail.length > 20) return;
        expect(gateway.logged()).toContain('a forged journal entry was passed over');
        expect(await problemsOf(token.id)).toContain(
          'the journal has an entry about it that Tollgate did not write',
        );
      },
    );

    // catches(payment by virtual PAN: not with a seal that the journal knows to be replaced, or a token that it knows to be gone)
    test('the entry of an earlier seal is copied, and the earlier card put back → not charged', async () => {
      const token = await vault.newToken();
      const replace = (pan: string) =>
        vault.changeToken(token.customerId, token.id, { account: cardAccount({ 'CARD.PAN': pan }) });
      await replace('5555555555554444');
      const row = `FROM token WHERE id = ${token.id}`;
      const [old] = (await intruder.query(`SELECT sealed, seal_version, key_version ${row}`)).rows;
      await replace('4111111111111111');
      await intruder.query(`INSERT INTO journal (organisation_id, merchant_id, actor, action, customer_id, token_id, detail, address, mark)
        SELECT organisation_id, merchant_id, actor, action, customer_id, token_id, detail, address, mark FROM journal
        WHERE token_id = ${token.id} AND detail LIKE '%seal ${old.seal_version}'`);
      expect(await pays(token.virtualPan)).toBe(201);
      await gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica;
        UPDATE token SET sealed = '\\x${old.sealed.toString('hex')}', seal_version = ${old.seal_version},
          key_version = ${old.key_version} WHERE id = ${token.id}; COMMIT`);
      expect(await pays(token.virtualPan)).toBe(422);
      expect(await problemsOf(token.id)).toEqual(['an earlier seal was put back']);
    });

    test('a token is put back, and its deletion hidden behind forged ones → not charged', async () => {
      const token = await vault.newToken();
      await gateway.sql(`CREATE TABLE saved AS SELECT * FROM token WHERE id = ${token.id}`);
      await vault.deleteToken(token.customerId, token.id);
      for (let forged = 0; forged < 25; forged += 1)
        await intruder.query(`INSERT INTO journal (id, organisation_id, merchant_id, actor, action, token_id)
          OVERRIDING SYSTEM VALUE VALUES (${1_000_000 + forged}, 1, 1, 'user:owner', 'token.deleted', ${token.id})`);
      await gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM token WHERE id = ${token.id};
        INSERT INTO token SELECT * FROM saved; DROP TABLE saved; COMMIT`);
      expect(await pays(token.virtualPan)).toBe(422);
    });

    // catches(journal: forged entries do not hide what it says)
    test('an earlier card is put back, and the entry of its replacement hidden behind forged ones → not charged', async () => {
      const token = await vault.newToken();
      const row = `FROM token WHERE id = ${token.id}`;
      const [old] = (await intruder.query(`SELECT sealed, seal_version, key_version ${row}`)).rows;
      const account = cardAccount({ 'CARD.PAN': '5555555555554444' });
      expect((await vault.changeToken(token.customerId, token.id, { account })).status).toBe(200);
      for (let forged = 0; forged < 25; forged += 1)
        await forge(token.id, 'token.updated', `seal ${900_000_000 + forged}`, null);
      await gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica;
        UPDATE token SET sealed = '\\x${old.sealed.toString('hex')}', seal_version = ${old.seal_version},
          key_version = ${old.key_version} WHERE id = ${token.id}; COMMIT`);
      expect(await pays(token.virtualPan)).toBe(422);
    });

    test('the end of the chain is raised, an entry inserted, and set back → the log, the metric, journal verify and doctor tell', async () => {
      const forged = async () =>
        (await scrape(gateway.operatorsUrl)).sum('tollgate_broken_seals_total', { of: 'journal' }) ?? 0;
      const before = await forged();
      await intruder.query('UPDATE journal_chain SET chained_up_to = chained_up_to + 1000');
      const { rows } = await intruder.query(
        `INSERT INTO journal (actor, action, detail) VALUES ('operator:first', 'operator.added', 'mine') RETURNING id::integer`,
      );
      await intruder.query('UPDATE journal_chain SET chained_up_to = chained_up_to - 1000');
      await gateway.api.purchase();
      await expect
        .poll(() => gateway.logged())
        .toMatch(
          new RegExp(
            `"entries":\\[[\\d,]*\\b${rows[0].id}\\b[\\d,]*\\],"msg":"journal entries were not written`,
          ),
        );
      expect(await forged()).toBeGreaterThan(before);
      const environment = { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir };
      const verified = await runHere(['journal', 'verify'], environment);
      const told = `entry ${rows[0].id}: inserted: Tollgate did not write it`;
      expect([verified.code, verified.stdout]).toEqual([1, expect.stringContaining(told)]);
      const doctor = await runHere(['doctor'], environment);
      expect([doctor.code, doctor.stdout]).toEqual([
        1,
        expect.stringMatching(/failed +[^\n]*\d+ problems in the last \d+ entries/),
      ]);
    });

    // catches(keys: one that was destroyed does not come back)
    test('the destruction of a data key is forged → its cards still pay', async () => {
      const token = await vault.newToken();
      await intruder.query(`INSERT INTO journal (organisation_id, merchant_id, actor, action, detail, mark)
        VALUES (1, 1, 'operator:first', 'keys.destroyed', 'version 1', '\\x${'ef'.repeat(28)}')`);
      const another = await testGateway({ shareWith: gateway });
      expect((await another.api.purchase({ pan: token.virtualPan })).status).toBe(201);
    });
  });

  describe('the chain', () => {
    const problems = async (own: ChainedJournal) =>
      (await verifyJournal(own.database, own.key)).problems.map(({ problem }) => problem);
    const opened = async () => {
      const own = await ChainedJournal.open();
      const chain = await own.filled(9);
      await own.intruder.query(`SET session_replication_role = origin; SET ROLE ${role}`);
      return { own, chain };
    };
    const FORGED = `INSERT INTO journal (actor, action, detail, mark) VALUES ('operator:first', 'operator.added', 'mine', NULL)`;

    test('raised, an entry inserted, and set back → found', async () => {
      const { own, chain } = await opened();
      await own.intruder.query('UPDATE journal_chain SET chained_up_to = 100');
      await own.intruder.query(FORGED);
      await chain.run();
      await own.intruder.query('UPDATE journal_chain SET chained_up_to = 9');
      expect(await problems(own)).toContain('inserted: Tollgate did not write it');
      await chain.run();
      expect(await problems(own)).toContain('inserted: Tollgate did not write it');
      expect(own.foreign).toEqual([10]);
    });

    test.each([
      ['raised', 'UPDATE journal_chain SET chained_up_to = 100'],
      ['lowered', 'UPDATE journal_chain SET chained_up_to = 3'],
      // catches(journal: the end of the chain is not moved)
    ])('its end is %s → found', async (_, statement) => {
      const { own } = await opened();
      expect(await problems(own)).toEqual([]);
      await own.intruder.query(statement);
      expect(await problems(own)).toContain('changed: journal_chain does not say where the last block ends');
    });

    test.each([
      ['behind a gap', `INSERT INTO journal_gap (first_id, last_id) VALUES (10, 100); ${FORGED}`],
      [
        'above all others',
        FORGED.replace('(actor', '(id, actor').replace('VALUES (', 'OVERRIDING SYSTEM VALUE VALUES (5000, '),
      ],
      ['with the MAC of another', FORGED.replace('NULL)', '(SELECT mark FROM journal WHERE id = 4))')],
      ['with an empty MAC', FORGED.replace('NULL)', `'')`)],
      [
        'with a block of one’s own',
        `${FORGED}; INSERT INTO journal_block (number, made_ms, spans, first_id, last_id, tags, hash)
        SELECT number + 1, made_ms, '{10,10}', 10, 10, substr(tags, 1, 16), hash FROM journal_block ORDER BY number DESC LIMIT 1`,
      ],
    ])('an entry is inserted %s → found, before and after the next block', async (_, statement) => {
      const { own, chain } = await opened();
      await own.intruder.query(statement);
      expect(await problems(own)).not.toEqual([]);
      await own.write('goes on').catch(() => {});
      await chain.run().catch(() => {});
      expect(await problems(own)).not.toEqual([]);
    });

    test.each([
      'DELETE FROM journal_chain',
      'DELETE FROM journal_block WHERE number = 3',
      'UPDATE journal_block SET made_ms = 1',
      'DELETE FROM journal WHERE id = 4',
      `UPDATE journal SET actor = 'operator:another'`,
      'TRUNCATE journal_block',
      `SELECT setval('journal_id_seq', 1)`,
      `INSERT INTO journal (id, actor, action) OVERRIDING SYSTEM VALUE VALUES (-1, 'operator:first', 'operator.added')`,
      // catches(roles: the chain of the journal is only ever added to)
    ])('%s → refused', async (statement) => {
      const { own } = await opened();
      // The login has no right to, whatever triggers say.
      await expect(own.intruder.query(statement)).rejects.toThrow(
        statement.startsWith('INSERT') ? /id_was_handed_out/ : /permission denied/,
      );
    });
  });
});
