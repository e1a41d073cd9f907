// A test host for one test, and what tests ask of it again and again.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type ClientOptions, IsoClient, networkMessage } from '../../testkit/iso8583-host/client.js';
import type { Message } from '../../testkit/iso8583-host/codec.js';
import { AS2805, type Dialect } from '../../testkit/iso8583-host/dialects.js';
import { Host, type HostOptions } from '../../testkit/iso8583-host/host.js';
import type { MacKeys } from '../../testkit/iso8583-host/mac.js';

/** In a folder that is removed when the test has ended. */
export function newLedgerPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-host-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'ledger');
}

export async function openHost(options: Partial<HostOptions> = {}): Promise<Host> {
  const host = await Host.open({ dialect: AS2805, ledgerPath: newLedgerPath(), ...options });
  onTestFinished(() => host.close());
  return host;
}

export async function signedOn(options: ClientOptions): Promise<IsoClient> {
  const client = await IsoClient.signedOn(options);
  onTestFinished(() => client.close());
  return client;
}

/** A host, and a client that is signed on to it. */
export async function openBoth(
  dialect: Dialect = AS2805,
  macKeys?: MacKeys,
): Promise<{ host: Host; client: IsoClient }> {
  const host = await openHost({ dialect, macKeys });
  return { host, client: await signedOn({ port: host.port, dialect, ...(macKeys && { macKeys }) }) };
}

export const codeOf = (answer: Message | undefined) => answer?.fields.get(39);
export const stanOf = (answer: Message | undefined) => answer?.fields.get(11);
export const charged = (host: Host) => [...host.books.positions().values()];
export const complaints = (host: Host) => host.books.complaints.map(({ what }) => what);

/** That it answers an echo next shows that it answered nothing before it. */
export async function expectSilence(client: IsoClient): Promise<void> {
  expect((await client.ask(networkMessage('301')))?.mti).toBe('0810');
}
