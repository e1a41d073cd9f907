// A gateway whose merchant 1 pays over an ISO 8583 link, added as an operator adds it, and the host with books at the other end.
import { expect, vi } from 'vitest';
import { addAcquirer } from '../../../src/acquirers/acquirer-tasks.js';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { RetailMac } from '../../../src/acquirers/iso8583/wire/mac.js';
import { setMerchant } from '../../../src/organisations/merchants.js';
import type { Database } from '../../../src/postgres/database.js';
import { FileKeys } from '../../../src/vault/keys/local-keys.js';
import { operatorsDatabase } from '../../../testkit/cast.js';
import type { Answer } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { BookKeepingHost } from './book-keeping-host.js';
import { MAC_KEY } from './corpus.js';
import type { Heard } from './scripted-host.js';

export const PATIENTLY = { timeout: 300_000, interval: 10 };
export const OPERATOR = 'operator:test';
const MAC = new RetailMac(Buffer.from(MAC_KEY, 'hex'));

export class GatewayAtHost {
  private constructor(
    readonly gateway: TestGateway,
    readonly host: BookKeepingHost,
    readonly database: Database,
    readonly provider: FileKeys,
  ) {}

  static async start(): Promise<GatewayAtHost> {
    const gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '1500' } });
    const host = await new BookKeepingHost(AS2805, MAC).listen();
    const database = operatorsDatabase(gateway, 2);
    const provider = new FileKeys(
      gateway.ledgerPath.replace('simulator-ledger.ndjson', 'key-encryption-key'),
    );
    const address = `127.0.0.1:${host.port}`;
    const wish = {
      name: 'bank',
      address,
      test: true,
      institution: '560279',
      connections: 2,
      macKeys: MAC_KEY,
    };
    await addAcquirer(database, OPERATOR, provider, wish);
    await setMerchant(database, OPERATOR, 1, {
      acquirer: 'bank',
      acceptorId: 'MERCHANT0000001',
      terminals: ['TERM0001', 'TERM0002'],
      categoryCode: '5999',
    });
    // The gateway follows: it signs on, and reloads the merchant.
    await vi.waitUntil(async () => {
      const { body } = await gateway.api.purchase();
      return host.messages().length > 0 && body.status.transaction_status_code === 'approved';
    }, PATIENTLY);
    return new GatewayAtHost(gateway, host, database, provider);
  }

  /** The host must have had nothing to complain of. */
  async stop(): Promise<void> {
    await this.database.close();
    await this.gateway.close();
    await this.host.stop();
    expect(this.host.complaints).toEqual([]);
  }

  /** The last message of a type that the host has heard. */
  last(type: string): Heard {
    return this.host.messages(type).at(-1) as Heard;
  }
}

/** Its audit. */
export async function approved(answering: Promise<Answer>): Promise<number> {
  const { body } = await answering;
  expect(body.status.transaction_status_code).toBe('approved');
  return body.audit;
}

/** Asked again as long as it is certainly not processed, as any client does: a slow machine may have lost its connections. */
export async function takenUp(ask: () => Promise<Answer>): Promise<Answer> {
  return vi.waitUntil(async () => {
    const answer = await ask();
    return answer.status === 503 ? undefined : answer;
  }, PATIENTLY);
}
