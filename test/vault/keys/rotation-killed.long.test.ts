// A rotation killed again and again: nothing is lost at any point, and the next one resumes.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { showKeys } from '../../../src/installation/keys.js';
import { FairConnections } from '../../../src/postgres/fair-connections.js';
import { CardNumber } from '../../../src/values/card.js';
import type { CustomerId, MerchantId, OrganisationId } from '../../../src/values/ids.js';
import { DataKeys } from '../../../src/vault/keys/keys.js';
import { Tokens } from '../../../src/vault/tokens.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { type Environment, start } from '../../../testkit/gateway-process.js';
import {
  dataDirOf,
  type Operator,
  opened,
  operatorOf,
  sealedRows,
  versionsIn,
} from '../../../testkit/sealed-rows.js';
import { cardBeginning, vaultOf } from '../../../testkit/vault-client.js';

const TOKENS = 2_500;
const KILLS = 5;

let gateway: TestGateway;
let operator: Operator;
let environment: Environment;

beforeAll(async () => {
  gateway = await testGateway();
  operator = await operatorOf(gateway);
  environment = { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: dataDirOf(gateway) };
});
afterAll(async () => {
  await operator.close();
  await gateway.close();
});

/** More than a few batches, without a request for each. */
async function manyTokens(customerId: number): Promise<string[]> {
  const { database } = operator;
  const vault = new FairConnections(database, {
    connections: 1,
    perOrganisation: 1,
    maxWaiting: 1,
    maxWaitMs: 1_000,
  });
  const tokens = new Tokens(
    { leases: database, vault, additions: database, lookUps: database },
    new DataKeys(database, operator.provider),
  );
  const access = {
    organisationId: 1 as OrganisationId,
    merchantId: 1 as MerchantId,
    username: 'owner',
    correlationId: 'many',
    userId: 1,
    address: '127.0.0.1',
  };
  const made = await Promise.all(
    Array.from({ length: TOKENS }, (_, serial) =>
      tokens.create(access, customerId as CustomerId, {
        preferredName: `Token ${serial}`,
        active: true,
        account: {
          type: 'general_creditcard',
          number: new CardNumber(cardBeginning('45', serial)),
          expiry: { month: 12, year: 2039 },
          name: 'Ada',
        },
      }),
    ),
  );
  return made.map(({ virtualPan }) => virtualPan);
}

test('rotate, killed many times → every token opens after each kill, and the rotation is complete in the end', async () => {
  const pans = await manyTokens(await vaultOf(gateway.api).newCustomer());
  for (const pan of pans.slice(0, 20)) await gateway.api.purchase({ pan });
  const texts = await opened(operator, await sealedRows(gateway));
  const left = async () => {
    const [row] = await gateway.sql<{ left: string; newest: number }>(
      `SELECT (SELECT count(*) FROM token t WHERE t.key_version < k.newest) AS left, k.newest
       FROM (SELECT max(version) AS newest FROM data_key) k`,
    );
    return `${row?.newest}: ${row?.left}`;
  };

  for (let kill = 1; kill <= KILLS; kill += 1) {
    const before = await left();
    const rotating = start(['keys', 'rotate', '--json'], environment);
    // The first dies before it has done anything, the others as soon as they have done something.
    if (kill > 1) while ((await left()) === before) await sleep(2);
    rotating.kill('SIGKILL');
    expect((await rotating.ended).signal).toBe('SIGKILL');

    expect((await gateway.api.purchase({ pan: pans[kill * 400] as string })).status).toBe(201);
    const tokens = (await sealedRows(gateway)).filter(({ table }) => table === 'token');
    expect(await opened(operator, tokens)).toEqual(texts.slice(0, TOKENS));
  }

  const last = await start(['keys', 'rotate', '--json'], environment).ended;
  expect([last.code, last.stderr]).toEqual([0, '']);
  expect(JSON.parse(last.stdout)).toMatchObject({ merchants: 1 });
  const rows = await sealedRows(gateway);
  const [newest] = (await showKeys(operator.database)).slice(-1);
  expect(newest?.seals).toBe(true);
  expect(versionsIn(rows, 1)).toEqual([newest?.version]);
  expect((await opened(operator, rows)).slice(0, TOKENS)).toEqual(texts.slice(0, TOKENS));
  for (const pan of pans.slice(-20)) {
    expect((await gateway.api.purchase({ pan })).body.status.transaction_status_code).toBe('approved');
  }
});
