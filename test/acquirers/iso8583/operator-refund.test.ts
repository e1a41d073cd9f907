// What an operator refunds goes over the connections that the gateway has: acquirers allow one or two, and count sign-ons.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runHere } from '../../../testkit/command-here.js';
import { commands, wordsOf } from '../../../testkit/commands.js';
import { signedIn } from '../../../testkit/console.js';
import { testGateway } from '../../../testkit/gateway.js';
import { dialectNamed } from '../../../testkit/iso8583-host/dialects.js';
import { Host } from '../../../testkit/iso8583-host/host.js';
import { PATIENTLY } from './gateway-at-host.js';

/** What a network message is about, in field 70; an echo is something else. */
const SIGN_ON = '001';

test('refunds by console and command line → the acquirer sees no further connection or sign-on, only the refunds', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-iso-'));
  const host = await Host.open({ dialect: dialectNamed('as2805'), ledgerPath: join(folder, 'ledger') });
  const gateway = await testGateway();
  onTestFinished(async () => {
    await gateway.close();
    await host.close();
    await rm(folder, { recursive: true, force: true });
  });
  const environment = {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    TOLLGATE_ACQUIRER_DEADLINE_MS: '1500',
  };
  const { json, text } = commands((line) => runHere(wordsOf(line), environment));
  await json(
    `acquirer add bank --kind iso8583 --address 127.0.0.1:${host.port} --test --institution 560279 --connections 1`,
  );
  await text('merchant set 1 --acquirer bank --acceptor-id MERCHANT0000001 --terminals TERM0001');
  const paid = await vi.waitUntil(async () => {
    const { body } = await gateway.api.purchase({ amount: 900 });
    return (
      host.books.payments().length > 0 && body.status.transaction_status_code === 'approved' && body.audit
    );
  }, PATIENTLY);

  const connections = () => [...host.connections].map(({ number }) => number);
  const signOns = () =>
    host.seen.after(0).filter(({ mti, fields }) => mti === '0800' && fields[70] === SIGN_ON).length;
  const before = { connections: connections(), signOns: signOns() };
  expect(before).toEqual({ connections: [expect.any(Number)], signOns: expect.any(Number) });
  const last = host.seen.after(0).length;
  expect(await json(`transaction refund ${paid} --amount 100 --reason x`)).toMatchObject({
    status: 'approved',
  });
  const olga = await signedIn(gateway, { role: 'operator' });
  const clicked = await olga.post(`/transactions/1/${paid}/refund`, {
    amount_cents: 200,
    reason: 'x',
    key: '0123456789abcdef',
  });
  expect(clicked.body).toMatchObject({ status: 'approved' });
  expect({ connections: connections(), signOns: signOns() }).toEqual(before);
  expect(new Set(host.seen.after(last).map(({ connection }) => connection))).toEqual(
    new Set(before.connections),
  );
});
