// Data keys: rotated while the gateway serves, and destroyed only when nothing is sealed under them.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { showKeys } from '../../../src/installation/keys.js';
import type { MerchantId, OrganisationId } from '../../../src/values/ids.js';
import { KeyUnavailable } from '../../../src/vault/keys/key-provider.js';
import { DataKeys } from '../../../src/vault/keys/keys.js';
import type { RotationProgress } from '../../../src/vault/keys/rotation.js';
import type { Client } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import {
  type Operator,
  opened,
  operatorOf,
  payWith,
  sealedRows,
  tokensOf,
  versionsIn,
} from '../../../testkit/sealed-rows.js';
import { bankAccount, cardAccount, type NewToken, vaultOf } from '../../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;
let operator: Operator;
const quiet = () => {};

beforeEach(async () => {
  gateway = await testGateway();
  api = gateway.api;
  operator = await operatorOf(gateway);
  onTestFinished(() => operator.close());
});

/** As if the newest version had been made two minutes ago. */
const age = () => gateway.sql(`UPDATE data_key SET created_at = created_at - interval '2 minutes'`);

describe('rotating', () => {
  /** The output of `status`, without random values. */
  const counts = async () =>
    (await showKeys(operator.database)).map(({ merchant, version, seals, tokens, transactions }) => {
      return { merchant, version, seals, tokens, transactions };
    });

  // catches(renewal of keys: a newer version is seen within a second) slow
  test('rotate → every token and transaction is resealed under the next version, with the same content', async () => {
    const [mine, theirs] = [await tokensOf(gateway, 1, 20), await tokensOf(gateway, 2, 5)];
    const bank = await vaultOf(api).newToken({ account: bankAccount() });
    await payWith(gateway, mine);
    await payWith(gateway, theirs, 2);
    const before = await sealedRows(gateway);
    const texts = await opened(operator, before);
    expect(before).toHaveLength(51);
    expect(new Set(before.map(({ version }) => version))).toEqual(new Set([1]));
    expect(await counts()).toEqual([
      { merchant: 1, version: 1, seals: true, tokens: 21, transactions: 20 },
      { merchant: 2, version: 1, seals: true, tokens: 5, transactions: 5 },
    ]);

    const told: RotationProgress[] = [];
    const result = await operator.rotation.rotate(undefined, (at) => told.push(at));
    expect(result).toEqual({ merchants: 2, rows: 51, broken: 0 });
    expect(told.filter(({ merchantId }) => merchantId === 1).at(-1)).toEqual({
      merchantId: 1,
      done: 41,
      total: 41,
    });
    expect(told.every(({ done, total }) => done <= total)).toBe(true);

    expect(await counts()).toEqual([
      { merchant: 1, version: 1, seals: false, tokens: 0, transactions: 0 },
      { merchant: 1, version: 2, seals: true, tokens: 21, transactions: 20 },
      { merchant: 2, version: 1, seals: false, tokens: 0, transactions: 0 },
      { merchant: 2, version: 2, seals: true, tokens: 5, transactions: 5 },
    ]);
    const after = await sealedRows(gateway);
    expect([versionsIn(after, 1), versionsIn(after, 2)]).toEqual([[2], [2]]);
    expect(await opened(operator, after)).toEqual(texts);
    for (const [at, { sealed }] of after.entries()) expect(sealed).not.toEqual(before[at]?.sealed);
    await payWith(gateway, mine);
    await payWith(gateway, theirs, 2);
    expect((await vaultOf(api).lookUpToken(bank.customerId, bank.id)).status).toBe(200);
    // New rows are sealed under the new version.
    const newest = await sealedRows(gateway);
    expect(newest.length).toBeGreaterThan(after.length);
    expect(versionsIn(newest, 1)).toEqual([2]);
  });

  test('rotate one merchant → the other keeps its version; rotate where nothing was ever sealed → nothing', async () => {
    expect(await operator.rotation.rotate(undefined, quiet)).toEqual({ merchants: 0, rows: 0, broken: 0 });
    await tokensOf(gateway, 1, 2);
    await tokensOf(gateway, 2, 2);
    expect(await operator.rotation.rotate(2, quiet)).toEqual({ merchants: 1, rows: 2, broken: 0 });
    const rows = await sealedRows(gateway);
    expect([versionsIn(rows, 1), versionsIn(rows, 2)]).toEqual([[1], [2]]);
  });

  test('two rotations at once, under load → no request fails, and everything is under the newest version in the end', async () => {
    const tokens = await tokensOf(gateway, 1, 400);
    await payWith(gateway, tokens.slice(0, 200));
    const vault = vaultOf(api);
    const { customerId } = tokens[0] as NewToken;
    let over = false;
    let turns = 0;
    const hammering = Array.from({ length: 4 }, async (_, lane) => {
      for (let turn = lane; !over; turn += 4) {
        const { id, virtualPan } = tokens[turn % tokens.length] as NewToken;
        const [paid, found, changed, added] = await Promise.all([
          api.purchase({ pan: virtualPan }),
          vault.lookUpToken(customerId, id),
          vault.changeToken(customerId, id, { account: cardAccount() }),
          vault.addToken(customerId),
        ]);
        expect(paid.body.status?.transaction_status_code).toBe('approved');
        expect([found.status, changed.status, added.status]).toEqual([200, 200, 201]);
        turns += 1;
      }
    });
    const second = await operatorOf(gateway);
    const rotating = Promise.all([
      operator.rotation.rotate(1, quiet),
      second.rotation.rotate(1, quiet),
    ]).finally(() => {
      over = true;
    });
    await Promise.all([rotating, ...hammering]);
    await second.close();
    expect(turns).toBeGreaterThan(0);

    const rows = await sealedRows(gateway);
    const [{ newest }] = (await gateway.sql('SELECT max(version) AS newest FROM data_key')) as [
      { newest: number },
    ];
    expect(newest).toBeLessThanOrEqual(3);
    expect(versionsIn(rows, 1)).toEqual([newest]);
    expect(await opened(operator, rows)).toHaveLength(rows.length);
  });
});

describe('destroying', () => {
  const refused = (version: number) =>
    expect(operator.rotation.destroy(1, version)).rejects.toThrow(
      `version ${version} of merchant 1 cannot be destroyed`,
    );

  // catches(destroying a key: not one that was just replaced) slow
  test('destroy a version → refused while it seals, is the newest, is young or does not exist; otherwise destroyed for good', async () => {
    const tokens = await tokensOf(gateway, 1, 3);
    await payWith(gateway, tokens);
    const before = await sealedRows(gateway);
    await refused(1);
    await age();
    await refused(1);
    await new DataKeys(operator.database, operator.provider).add(1 as OrganisationId, 1 as MerchantId, 2);
    await age();
    // Replaced long enough ago, but everything is still sealed under it.
    await refused(1);

    // Continues with the existing version, and creates no third.
    await operator.rotation.rotate(1, quiet);
    expect(versionsIn(await sealedRows(gateway), 1)).toEqual([2]);
    await gateway.sql('UPDATE data_key SET created_at = now() WHERE version = 2');
    await refused(1);
    await age();
    await refused(2);
    await refused(7);
    await operator.rotation.destroy(1, 1);
    await refused(1);
    expect((await showKeys(operator.database)).map(({ version }) => version)).toEqual([2]);

    // A copy of the old rows, for example from a backup, no longer opens.
    for (const row of before) await expect(opened(operator, [row])).rejects.toThrow(KeyUnavailable);
    await payWith(gateway, tokens);
    expect(await opened(operator, await sealedRows(gateway))).toHaveLength(9);
  });

  // catches(destroying a key: not while a transaction is sealed under it) slow
  test('destroy a version under which only transactions, or only tokens, are sealed → refused', async () => {
    await api.purchase({ merchant: 1 });
    await tokensOf(gateway, 2, 1);
    for (const merchantId of [1, 2]) {
      await new DataKeys(operator.database, operator.provider).add(
        1 as OrganisationId,
        merchantId as MerchantId,
        2,
      );
      await age();
      await expect(operator.rotation.destroy(merchantId, 1)).rejects.toThrow('cannot be destroyed');
    }
    expect(await opened(operator, await sealedRows(gateway))).toHaveLength(2);
  });

  // catches(destroying a key: not the newest) slow
  test('destroy the newest version, under which nothing is sealed yet → refused: a process may be about to use it', async () => {
    await api.purchase({ merchant: 1 });
    await new DataKeys(operator.database, operator.provider).add(1 as OrganisationId, 1 as MerchantId, 2);
    await age();
    await refused(2);
    expect((await showKeys(operator.database)).map(({ version }) => version)).toEqual([1, 2]);
  });

  test('destroy a version that sealed only deleted tokens → destroyed, since nothing of them is left', async () => {
    const [token] = (await tokensOf(gateway, 1, 1)) as [NewToken];
    const [before] = await sealedRows(gateway);
    await vaultOf(api).deleteToken(token.customerId, token.id);
    expect(await gateway.sql('SELECT sealed, key_version, shown, preferred_name FROM token')).toEqual([
      { sealed: null, key_version: null, shown: null, preferred_name: null },
    ]);
    await operator.rotation.rotate(1, quiet);
    await age();
    await operator.rotation.destroy(1, 1);
    await expect(opened(operator, before ? [before] : [])).rejects.toThrow(KeyUnavailable);
  });
});
