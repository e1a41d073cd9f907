// Gateway processes carry out operators' requests: once, even if one is killed, and not at all after expiry.
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { addOperator, removeOperator } from '../../src/operators/operators.js';
import type { CredentialKey } from '../../src/organisations/users/credentials.js';
import type { Point } from '../../src/payments/pipeline/create.js';
import { requestOperation } from '../../src/payments/requests/operator-requests.js';
import type { Database } from '../../src/postgres/database.js';
import { credentialKeyOf, operatorsDatabase } from '../../testkit/cast.js';
import type { Client } from '../../testkit/client.js';
import { type Installation, type InstalledGateway, installation } from '../../testkit/cloned-installation.js';
import { runHere } from '../../testkit/command-here.js';
import { type Commands, commands, wordsOf } from '../../testkit/commands.js';
import { eventually } from '../../testkit/gateway-process.js';

const commandsOn = ({ databaseUrl, dataDir }: Installation): Commands =>
  commands((line) =>
    runHere(wordsOf(line), {
      DATABASE_URL: databaseUrl,
      TOLLGATE_DATA_DIR: dataDir,
      TOLLGATE_ACQUIRER_DEADLINE_MS: '500',
    }),
  );

async function purchase(api: Client): Promise<number> {
  const { status, body } = await api.purchase({ amount: 1_000 });
  expect(status).toBe(201);
  return body.audit;
}

const refundsOf = async ({ ledger }: Installation, target: number): Promise<number> => {
  const reference = new RegExp(`-1-${target}$`);
  return (await ledger()).filter(
    ({ operation, targetReference }) => operation === 'refund' && reference.test(targetReference ?? ''),
  ).length;
};

describe('a gateway is killed while it processes a refund', () => {
  const strikes: readonly (readonly [Point, string])[] = [
    // Taken, and nothing else: another process takes it.
    ['received', 'approved'],
    // The acquirer has not heard of it.
    ['claimed', 'error'],
    ['answered', 'approved'],
    // Its request is not marked as done.
    ['recorded', 'approved'],
  ];
  test.each(strikes)('when %s → at most one refund, and the request ends as %s', async (point, status) => {
    const shared = await installation();
    const doomed = await shared.start({ CRASH_AT: `${point}:2`, ACQUIRER_DEADLINE_MS: '1500' });
    const target = await purchase(doomed.api);
    const { json } = commandsOn(shared);
    const line = `transaction refund ${target} --amount 300 --reason x --key ${randomUUID()}`;
    const asking = json(line);
    expect((await doomed.ended).signal).toBe('SIGKILL');
    const first = await asking;
    const other = await shared.start({ ACQUIRER_DEADLINE_MS: '1500' });
    const made = await eventually(async () => {
      const shown = await json(line);
      return shown.audit === null || shown.status === 'unknown' ? undefined : shown;
    });
    expect(made).toMatchObject({ request: first.request, state: 'done', status });
    expect(await refundsOf(shared, target)).toBe(status === 'approved' ? 1 : 0);
    const { body } = await other.api.get(`/transactions/${target}`);
    expect(body.kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT']).toBe(status === 'approved' ? '700' : '1000');
    await eventually(async () => {
      const [row] = await shared.sql<{ state: string }>('SELECT state FROM operator_request');
      return row?.state === 'done' ? true : undefined;
    });
    await other.stop();
  });
});

describe('no available gateway', () => {
  let shared: Installation;
  let key: CredentialKey;
  let targets: number[];
  beforeAll(async () => {
    shared = await installation();
    const gateway = await shared.start();
    targets = [];
    for (let count = 0; count < 6; count += 1) targets.push(await purchase(gateway.api));
    await gateway.stop();
    const settings = readSettings({ TOLLGATE_DATA_DIR: shared.dataDir });
    key = await within((database) => credentialKeyOf(database, settings));
  });

  async function within<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    const database = operatorsDatabase(shared, 2);
    return work(database).finally(() => database.close());
  }

  /** Stored, and nobody waits for it. */
  const pending = async (operator: string, audit: number): Promise<number> => {
    const means = { key, patienceMs: 0 };
    const wish = { operation: 'refund', organisation: 1, audit, reason: 'x', key: randomUUID() } as const;
    const made = await within((database) => requestOperation(database, operator, means, wish));
    expect(made.state).toBe('ready');
    return made.request;
  };

  // catches(operator: nothing is stored that no gateway could carry out) slow, processes
  // catches(operator: what has expired is not taken) slow, processes
  // catches(operator: whoever was changed or removed since has nothing carried out) slow, processes
  test('none runs → refused with what to do, nothing is stored; one too busy → reported; later → only what is allowed by then', async () => {
    const { json, text, refusal } = commandsOn(shared);
    const [slow, expired, dying, suspended, removed, last] = targets as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    expect(await refusal(`transaction refund ${slow} --reason x`)).toBe(
      'no gateway runs on this database that could carry it out; nothing was stored or done: start one, and try again; `tollgate serve` starts one',
    );
    expect(await shared.sql('SELECT id FROM operator_request')).toEqual([]);

    // It sends heartbeats, and does nothing.
    await shared.sql(`INSERT INTO process (machine, pid) VALUES ('idle', 1)`);
    const alive = () => shared.sql(`UPDATE process SET seen_at = now()`);
    const line = `transaction refund ${slow} --reason x --key ${randomUUID()}`;
    expect(await text(line)).toMatch(
      new RegExp(`is still being processed; .tollgate approval list --all --audit ${slow}. shows`),
    );
    expect(await json(`approval list --audit ${slow}`)).toMatchObject([{ state: 'ready', audit: null }]);

    await alive();
    await within((database) =>
      addOperator(database, 'operator:test', key, 'http://127.0.0.1:8081', 'olga', {
        role: 'administrator',
      }),
    );
    const ofRemoved = await pending('operator:olga', removed);
    await within((database) => removeOperator(database, 'operator:test', key, 'olga'));
    const [ofExpired, ofDying, ofSuspended] = [
      await pending('operator:account:test', expired),
      await pending('operator:account:test', dying),
      await pending('operator:account:test', suspended),
    ];
    const moved = `UPDATE operator_request SET expires_at = now()`;
    await shared.sql(`${moved} WHERE id = $1`, [ofExpired]);
    await shared.sql(`${moved} + interval '59 seconds' WHERE id = $1`, [ofDying]);
    const [{ state } = { state: '' }] = await json(`approval list --all --audit ${expired}`);
    expect(state).toBe('expired');

    await text('merchant suspend 1');
    const gateway: InstalledGateway = await shared.start();
    const failed = (target: number) =>
      eventually(async () => {
        const [request] = await json(`approval list --all --audit ${target}`);
        return request.state === 'ready' ? undefined : request;
      });
    expect(await failed(suspended)).toMatchObject({
      request: ofSuspended,
      state: 'failed',
      failure: 'merchant_suspended',
    });
    expect(await failed(removed)).toMatchObject({
      request: ofRemoved,
      state: 'failed',
      failure: 'request_of_changed_operator',
    });
    await text('merchant resume 1');
    // Requested again under its key: the first had failed, too.
    await eventually(async () => {
      const { code, stdout } = await runHere(wordsOf(`${line} --json`), {
        DATABASE_URL: shared.databaseUrl,
        TOLLGATE_DATA_DIR: shared.dataDir,
      });
      return code === 0 && JSON.parse(stdout).status === 'approved' ? true : undefined;
    });
    // When this is done, everything before it has been handled.
    expect(await json(`transaction refund ${last} --reason x`)).toMatchObject({ status: 'approved' });
    expect(await json(`approval list --all --audit ${expired}`)).toMatchObject([
      { request: ofExpired, state: 'expired', audit: null, failure: null },
    ]);
    // Nothing is begun in the last minute.
    expect(await json(`approval list --all --audit ${dying}`)).toMatchObject([
      { request: ofDying, audit: null, failure: null },
    ]);
    const refunds = await Promise.all(targets.map((target) => refundsOf(shared, target)));
    expect(refunds).toEqual([1, 0, 0, 0, 0, 1]);
    await gateway.stop();
  });
});
