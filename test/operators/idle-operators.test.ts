// Operators who have not signed in for 90 days: disabled until another administrator enables them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealOfSignIn } from '../../src/operators/idle-operators.js';
import { changeOperator } from '../../src/operators/operator.js';
import { enableOperator, listOperators } from '../../src/operators/operators.js';
import { consoleClient, signedIn } from '../../testkit/console.js';
import { LOGINS, type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type SignInDesk, signInDesk } from '../../testkit/sign-in-desk.js';

let gateway: TestGateway;
let desk: SignInDesk;
beforeAll(async () => {
  gateway = await testGateway();
  desk = await signInDesk(gateway);
});
afterAll(async () => {
  await desk.close();
  await gateway.close();
});

/** The database’s clock goes on for everybody: what was stored is written as if it were older, with its seals. */
async function leftAlone(days: number, ...names: string[]): Promise<void> {
  const key = gateway.credentialKey;
  const atMs = Math.round(Date.now() - days * 86_400_000);
  for (const name of names) {
    const change = { actor: 'operator:test', action: 'operator.changed' } as const;
    await changeOperator(desk.database, key, name, change, () => ({ enabledMs: atMs }));
    await gateway.sql(
      `UPDATE operator SET signed_in_at = to_timestamp($2::float8 / 1000), signed_in_seal = $3 WHERE name = $1`,
      [name, atMs, sealOfSignIn(key, name, atMs)],
    );
  }
}

const disabled = async () => {
  const operators = await listOperators(desk.database, gateway.credentialKey);
  return operators.filter((operator) => operator.disabled).map(({ name }) => name);
};

describe('90 days without a sign-in', () => {
  // catches(operators: disabled after 90 days without a sign-in)
  // catches(sign-in: not while disabled)
  test('→ shown as disabled, refused with what to do, and journalled; enabled by another administrator → signs in', async () => {
    const admin = await signedIn(gateway, { name: 'enabling' });
    await desk.withPasskey('there-is-another');
    const { device } = await desk.withPasskey('idle');
    await leftAlone(89, 'idle');
    expect((await desk.signInBy(device)).status).toBe(204);
    await leftAlone(91, 'idle');
    expect(await disabled()).toEqual(['idle']);
    const refused = await desk.signInBy(device);
    expect([refused.status, refused.body.error_message]).toEqual([
      403,
      'The operator idle has not signed in for 90 days and is disabled: another administrator can enable them.',
    ]);
    expect((await desk.entriesOf('idle')).at(-1)).toMatchObject({
      action: 'operator.sign_in_failed',
      detail: 'idle: passkey, disabled, no sign-in for 90 days',
    });
    // A new link is no way around.
    const enrolling = await desk.opened(await desk.linkAgain('idle'));
    const options = (await enrolling.post('/enrol/passkey/options')).body;
    const body = { label: 'a device', response: device.create(options, desk.url) };
    expect((await enrolling.post('/enrol/passkey', body)).body.error_code).toBe('operator_disabled');
    expect((await admin.post('/operators/idle/enable')).body).toMatchObject({
      name: 'idle',
      disabled: false,
    });
    expect((await desk.entriesOf('enabling')).at(-1)).toMatchObject({
      action: 'operator.enabled',
      detail: 'idle',
    });
    expect((await desk.signInBy(device)).status).toBe(204);
    const listed = (await admin.get('/operators')).body.find(({ name }: { name: string }) => name === 'idle');
    expect(Date.now() - Date.parse(listed.last_signed_in)).toBeLessThan(600_000);
  });

  test('of somebody who was never there → disabled 90 days after they were added', async () => {
    await desk.add('never-there');
    expect(await disabled()).not.toContain('never-there');
    await leftAlone(91, 'never-there');
    await gateway.sql(
      `UPDATE operator SET signed_in_at = NULL, signed_in_seal = NULL WHERE name = 'never-there'`,
    );
    expect(await disabled()).toContain('never-there');
  });

  // catches(operators: nobody enables themselves)
  test('enabled by oneself → refused', async () => {
    const key = gateway.credentialKey;
    await expect(enableOperator(desk.database, 'operator:idle', key, 'idle')).rejects.toThrow(
      /^nobody enables themselves/,
    );
  });
});

describe.each(LOGINS)('somebody who writes to the database as %s', (role) => {
  // catches(operators: a sign-in that was made up keeps nobody active)
  test('and makes up a sign-in, or an enabling → stays disabled, or is nobody', async () => {
    const name = `forged-${role.replace('_', '-')}`;
    const { device } = await desk.withPasskey(name);
    await leftAlone(91, name);
    const write = (change: string) =>
      gateway.sqlAs(role, `UPDATE operator SET ${change} WHERE name = '${name}'`);
    if (role === 'tollgate_application') {
      await expect(write('signed_in_at = now()')).rejects.toThrow(/permission denied/);
      expect(await disabled()).toContain(name);
      return;
    }
    for (const change of [
      'signed_in_at = now()',
      'signed_in_at = now(), signed_in_seal = NULL',
      'created_at = now()',
    ]) {
      await write(change);
      expect(await disabled()).toContain(name);
      expect((await desk.signInBy(device)).status).toBe(403);
    }
    // Covered by the seal of the operator.
    await write('enabled_at = now()');
    expect((await desk.signInBy(device)).status).toBe(401);
    const operators = await listOperators(desk.database, gateway.credentialKey);
    expect(operators.find((operator) => operator.name === name)).toMatchObject({ sealed: false });
  });

  test('and forgets the last passwords → the operator is nobody, and is shown as changed', async () => {
    if (role === 'tollgate_application') return;
    const name = `forgetting-${role.replace('_', '-')}`;
    const { device } = await desk.withPasskey(name);
    await gateway.sqlAs(role, `UPDATE operator SET former_passwords = '["x"]' WHERE name = '${name}'`);
    expect((await desk.signInBy(device)).status).toBe(401);
    const operators = await listOperators(desk.database, gateway.credentialKey);
    expect(operators.find((operator) => operator.name === name)).toMatchObject({ sealed: false });
  });
});

test('the last administrator of the installation → signs in all the same; the others stay disabled', async () => {
  const { device } = await desk.withPasskey('last-one');
  const all = await gateway.sql<{ name: string }>(`SELECT name FROM operator WHERE removed_at IS NULL`);
  const operators = await listOperators(desk.database, gateway.credentialKey);
  const sealed = all.filter(({ name }) => operators.some((each) => each.name === name && each.sealed));
  await leftAlone(91, ...sealed.map(({ name }) => name));
  expect(await disabled()).not.toContain('last-one');
  const signed = await desk.signInBy(device);
  expect(signed.status).toBe(204);
  expect(await disabled()).toEqual(expect.arrayContaining(['first', 'idle']));
  expect(await disabled()).not.toContain('last-one');
  const there = consoleClient(desk.url, desk.withCookies(signed).cookie);
  expect((await there.post('/operators/idle/enable')).status).toBe(200);
});
