// The worked example of routes in docs/acquirers.md: its commands print what the page shows, and payments go where its table says.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addAcquirer } from '../../src/acquirers/acquirer-tasks.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import { RouteTable, readRoutes } from '../../src/organisations/routing/routes.js';
import type { Database } from '../../src/postgres/database.js';
import { CardNumber, luhnDigit } from '../../src/values/card.js';
import type { MerchantId, OrganisationId } from '../../src/values/ids.js';
import { EnvironmentKeys } from '../../src/vault/keys/local-keys.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';
import { read } from '../../testkit/project-files.js';

const OPERATOR = 'operator:test';
const [, SECTION = ''] = /^## Routes\n([\s\S]*?)^### /m.exec(read('docs/acquirers.md')) ?? [];
const [, SESSION = ''] = /^```\n([\s\S]*?)^```$/m.exec(SECTION) ?? [];
/** `4560 0012 …, AUD`, and the links in their order. */
const PAYMENTS = [
  ...SECTION.matchAll(/^\| ([0-9 ]+) …, ([A-Z]{3}) \| `(\w+)` \| (?:`(\w+)`|nowhere) \|$/gm),
].map(([, digits = '', currency = '', ...links]) => ({
  digits: digits.replaceAll(' ', ''),
  currency,
  links: links.filter((link) => link !== undefined),
}));

let database: TestDatabase;
let connection: Database;
let folder: string;
let organisation: OrganisationId;
beforeAll(async () => {
  database = await testDatabase();
  folder = await dataDirectory();
  connection = operatorsDatabase({ databaseUrl: database.url, dataDir: folder });
  organisation = (await addOrganisation(connection, OPERATOR, 'Ours')).id;
  // The merchant of the example is the fourth.
  for (let one = 1; one <= 4; one += 1)
    await addMerchant(connection, OPERATOR, organisation, 'Example Shop', {
      acceptorId: 'SHOP',
      terminals: ['T1'],
    });
  const provider = new EnvironmentKeys(Buffer.alloc(32, 1).toString('base64'));
  for (const name of ['bank', 'cheap'])
    await addAcquirer(connection, OPERATOR, provider, { name, address: '127.0.0.1:1', test: true });
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

const { text } = commands((line) =>
  runHere(wordsOf(line), { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: folder }),
);

test('the commands → print what the page shows', async () => {
  const steps = SESSION.split('$ npx tollgate ').slice(1);
  expect(steps).toHaveLength(3);
  for (const step of steps) {
    const [line = '', ...shown] = step.trimEnd().split('\n');
    expect(await text(line)).toBe(shown.join('\n'));
  }
});

test('the payments → go where the table says', async () => {
  expect(PAYMENTS).toHaveLength(5);
  const table = new RouteTable((await readRoutes(connection, organisation, 4 as MerchantId)).routes);
  for (const { digits, currency, links } of PAYMENTS) {
    const start = digits.padEnd(digits.startsWith('3') ? 14 : 15, '0');
    const { type: cardType, bin } = new CardNumber(start + luhnDigit(start));
    expect([digits, table.linksFor({ cardType, bin, currency }, 'bank')]).toEqual([digits, links]);
  }
});
