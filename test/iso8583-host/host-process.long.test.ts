// The test host as a process of its own: what it approved is known after `kill -9`, and tests can tell it what to do.
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { following, payment } from '../../testkit/iso8583-host/client.js';
import { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import { codeOf, newLedgerPath, signedOn } from './open-host.js';

async function startHost(): Promise<{ host: HostProcess; ledgerPath: string }> {
  const ledgerPath = newLedgerPath();
  const host = await HostProcess.start({ ledgerPath });
  onTestFinished(() => host.kill());
  return { host, ledgerPath };
}

test('killed and started again → approvals stand, reversals stay reversed, used STANs are known', async () => {
  const { host, ledgerPath } = await startHost();
  const before = await signedOn(host);
  const [kept, reversed] = [payment('0200'), payment('0200')];
  await before.ask(kept);
  await before.ask(reversed);
  await before.ask(following('0420', reversed));
  await host.kill();
  expect(await before.next()).toBeUndefined();
  await host.restart();
  const after = await signedOn(host);
  expect(Object.values(await host.positions())).toEqual(['1995 charged']);
  expect(codeOf(await after.ask(payment('0200', { 11: kept.fields.get(11), 7: kept.fields.get(7) })))).toBe(
    '94',
  );
  expect(codeOf(await after.ask(following('0420', kept)))).toBe('00');
  expect(await host.positions()).toEqual({});
  expect(await host.complaints()).toMatchObject([{ what: 'STAN used twice' }]);
  expect(readFileSync(ledgerPath, 'utf8')).not.toContain('4111111111111111');
});

test.each([
  ['dies before booking', []],
  ['dies after booking', ['1995 charged']],
  ['dies inside the answer', ['1995 charged']],
] as const)('%s → no answer, and the books say %j when it is back', async (fault, booked) => {
  const { host } = await startHost();
  await host.rule({ fault, times: 1 });
  const client = await signedOn(host);
  const purchase = payment('0200');
  expect(await client.ask(purchase)).toBeUndefined();
  await host.restart();
  expect(Object.values(await host.positions())).toEqual(booked);
  const back = await signedOn(host);
  expect(codeOf(await back.ask(following('0420', purchase)))).toBe(booked.length === 0 ? '25' : '00');
  expect(await host.positions()).toEqual({});
});

test('told to lose its store → remembers nothing, and reports the loss', async () => {
  const { host } = await startHost();
  const client = await signedOn(host);
  const purchase = payment('0200');
  await client.ask(purchase);
  await host.loseStore();
  expect(await host.positions()).toEqual({});
  expect(codeOf(await client.ask(following('0420', purchase)))).toBe('25');
  expect(host.entries()[0]?.kind).toBe('store lost');
});

test('every reversal is recorded when it comes and when it is acknowledged', async () => {
  const { host } = await startHost();
  await host.rule({ mti: '0420', fault: 'lost answer', times: 1 });
  const client = await signedOn(host);
  const purchase = payment('0200');
  await client.ask(purchase);
  const reversal = following('0420', purchase);
  client.send(reversal);
  expect(codeOf(await client.ask({ ...reversal, mti: '0421' }))).toBe('00');
  const noted = host.entries().filter(({ kind }) => kind === 'received' || kind === 'acknowledged');
  expect(noted).toMatchObject([
    { kind: 'received', mti: '0420' },
    { kind: 'received', mti: '0421' },
    { kind: 'acknowledged', mti: '0421', responseCode: '00' },
  ]);
});

test('rules, settings and connections through the control port', async () => {
  const { host } = await startHost();
  const client = await signedOn(host);
  await host.rule({ code: '51', times: 1 });
  expect(codeOf(await client.ask(payment('0200')))).toBe('51');
  await host.rule({ code: '51' });
  await host.clearRules();
  expect(codeOf(await client.ask(payment('0200')))).toBe('00');
  await host.set({ settlementDate: '1117' });
  expect((await host.status()).settings.settlementDate).toBe('1117');
  await expect(host.set({ settled: true } as never)).rejects.toThrow('there is no setting settled');
  await expect(host.rule({ fault: 'sleepy' as never })).rejects.toThrow('there is no fault “sleepy”');
  expect((await host.status()).connections).toMatchObject([{ signedOn: true }]);
  expect((await host.seen()).map(({ mti }) => mti)).toEqual(['0800', '0200', '0200']);
  await host.closeConnections();
  expect(await client.next()).toBeUndefined();
});

test('a client disconnects → the ledger has which connection ended, and what was decided over it', async () => {
  const { host } = await startHost();
  const client = await signedOn(host);
  await client.ask(payment('0200'));
  client.close();
  await vi.waitFor(
    () => {
      const [decided, closed] = host.entries();
      expect(decided).toMatchObject({ kind: 'decided', responseCode: '00' });
      const { connection } = decided as { connection: number };
      expect(closed).toMatchObject({ kind: 'connection closed', connection });
    },
    { timeout: 300_000 },
  );
});
