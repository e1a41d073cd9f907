// Failed log-ins of the API in the journal.
import { expect, test } from 'vitest';
import { LogInJournal } from '../../src/http/log-in-journal.js';
import { verifyJournal } from '../../src/journal/journal-tasks.js';
import type { OrganisationId } from '../../src/values/ids.js';
import { testGateway } from '../../testkit/gateway.js';
import { callOverHttp } from '../../testkit/http-call.js';
import { ChainedJournal } from '../journal/chained-journal.js';

// catches(failed log-ins: what was typed is journalled only if it is the name of a user)
test('wrong secrets of a user, of names that nobody has, and of what is no name → two signed entries when the gateway stops, without what was typed', async () => {
  const gateway = await testGateway();
  const another = await testGateway({ shareWith: gateway });
  const { username } = gateway.owner;
  for (const name of [username, username, username, 'nobody-has-this', '4111111111111111', 'a'.repeat(32)]) {
    const authorization = `Basic ${Buffer.from(`${name}:wrong`).toString('base64')}`;
    const url = `${another.baseUrl}/transactions/1`;
    expect((await callOverHttp(url, { method: 'GET', headers: { authorization } })).status).toBe(401);
  }
  await another.close();
  const entries = await gateway.sql(
    `SELECT actor, organisation_id AS organisation, detail, mark IS NOT NULL AS signed FROM journal
      WHERE action = 'user.log_ins_failed' ORDER BY id`,
  );
  const common = { actor: 'gateway:log-ins', signed: true };
  expect(entries).toEqual([
    { ...common, organisation: 1, detail: `user ${username}: 3 failed, from 127.0.0.1` },
    { ...common, organisation: null, detail: 'no such user: 3 failed, from 127.0.0.1' },
  ]);
});

test('a flood under many names from many networks → two entries, and bounded networks', async () => {
  const own = await ChainedJournal.open();
  const journal = new LogInJournal({
    database: own.database,
    organisationsOf: async (names) => new Map(names.includes('shop') ? [['shop', 1 as OrganisationId]] : []),
  });
  for (let tried = 0; tried < 5_000; tried += 1) {
    journal.note(`name-${tried}`, `192.0.2.${tried % 250}`, 'wrong');
    if (tried === 50) journal.note('shop', '2001:db8:1:2::5', 'elsewhere');
    if (tried === 60) journal.note('shop', '2001:db8:1:2::6', 'wrong');
  }
  journal.note(undefined, '192.0.2.1', 'wrong');
  await journal.run();
  await journal.run();
  const { rows } = await own.database.query<{ organisation: number | null; detail: string }>({
    name: '',
    text: `SELECT organisation_id AS organisation, detail FROM journal WHERE action = 'user.log_ins_failed' ORDER BY id`,
  });
  expect(rows).toEqual([
    {
      organisation: 1,
      detail:
        'user shop: 2 failed, 1 of them with the right secret from a forbidden address, from 2001:db8:1:2::/64',
    },
    {
      organisation: null,
      detail: expect.stringMatching(
        /^no such user: 5001 failed, from (192\.0\.2\.\d+, ){7}192\.0\.2\.\d+ and others$/,
      ),
    },
  ]);
  expect((await verifyJournal(own.database, own.key)).problems).toEqual([]);
});

test('a journal that cannot be written → counted on, and written later', async () => {
  const own = await ChainedJournal.open();
  let isAway = true;
  const journal = new LogInJournal({
    database: own.database,
    organisationsOf: async () => {
      if (isAway) throw new Error('away');
      return new Map();
    },
  });
  journal.note('one', '192.0.2.1', 'wrong');
  await expect(journal.run()).rejects.toThrow('away');
  journal.note('one', '192.0.2.1', 'wrong');
  isAway = false;
  await journal.run();
  const { rows } = await own.database.query<{ detail: string }>({
    name: '',
    text: 'SELECT detail FROM journal',
  });
  expect(rows).toEqual([{ detail: 'no such user: 2 failed, from 192.0.2.1' }]);
});
