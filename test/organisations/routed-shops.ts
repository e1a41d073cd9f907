// Shops with routes: each an organisation of its own, so that what fails for one is nothing to the others; and hosts for them to pay over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import {
  addAcquirer,
  listAcquirers,
  type NewAcquirer,
  showAcquirer,
} from '../../src/acquirers/acquirer-tasks.js';
import { addMerchant, type NewMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import { type RouteWish, setRoute } from '../../src/organisations/routing/route-tasks.js';
import { addUser } from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import { FileKeys } from '../../src/vault/keys/local-keys.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import type { Answer, Client, PaymentChange } from '../../testkit/client.js';
import type { Credentials, TestGateway } from '../../testkit/gateway.js';
import { AS2805 } from '../../testkit/iso8583-host/dialects.js';
import { Host } from '../../testkit/iso8583-host/host.js';

export const OPERATOR = 'operator:test';
export const PATIENTLY = { timeout: 300_000, interval: 20 };
const NETWORK = '0800';

export interface Shop {
  readonly organisation: number;
  readonly id: number;
  readonly user: Credentials;
  readonly api: Client;
  pay(change?: PaymentChange): Promise<Answer>;
  /** The link that a transaction is stored with. */
  linkOf(answer: Answer): Promise<string | undefined>;
}

export class RoutedShops {
  readonly database: Database;
  readonly #hosts: Host[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'tollgate-routes-'));
  #count = 0;

  constructor(private readonly gateway: TestGateway) {
    this.database = operatorsDatabase(gateway, 2);
  }

  async close(): Promise<void> {
    await this.database.close();
    await this.gateway.close();
    await Promise.all(this.#hosts.map((host) => host.close()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A host, and a link to it that the gateway has signed on to. */
  async host(name: string, change: Partial<NewAcquirer> = {}): Promise<Host> {
    const host = await Host.open({ dialect: AS2805, ledgerPath: join(this.#folder, name) });
    this.#hosts.push(host);
    await this.#link(name, { address: `127.0.0.1:${host.port}`, ...change });
    await vi.waitUntil(() => [...host.connections].some(({ signedOn }) => signedOn), PATIENTLY);
    return host;
  }

  /** A link that the gateway knows, and cannot open: nobody listens there. */
  async unreachable(name: string, change: Partial<NewAcquirer> = {}): Promise<void> {
    await this.#link(name, { address: '127.0.0.1:1', ...change });
    await vi.waitUntil(() => this.gateway.logged().includes(`"link":"${name}"`), PATIENTLY);
  }

  /** On how many gateways an operator sees that the link is out, and for how many organisations on each. */
  async failing(name: string): Promise<[gateways: number, organisations: number[]]> {
    const listed = (await listAcquirers(this.database)).find((link) => link.name === name);
    const { gateways } = await showAcquirer(this.database, this.#provider(), name);
    return [listed?.gatewaysFailing ?? 0, gateways.map(({ failingFor }) => failingFor)];
  }

  #provider(): FileKeys {
    return new FileKeys(this.gateway.ledgerPath.replace('simulator-ledger.ndjson', 'key-encryption-key'));
  }

  async #link(name: string, change: Partial<NewAcquirer> & Pick<NewAcquirer, 'address'>): Promise<void> {
    await addAcquirer(this.database, OPERATOR, this.#provider(), { name, test: true, ...change });
  }

  /** Its user is new to the gateway, which so knows its routes at once. */
  async shop(routes: readonly RouteWish[], change: NewMerchant = {}): Promise<Shop> {
    this.#count += 1;
    const number = this.#count;
    const { id: organisation } = await addOrganisation(this.database, OPERATOR, `Organisation ${number}`);
    const acceptor = { acceptorId: `SHOP${number}`, terminals: [`T${number}`] };
    const { id } = await addMerchant(this.database, OPERATOR, organisation, 'Shop', {
      vault: true,
      ...acceptor,
      ...change,
    });
    for (const route of routes) await setRoute(this.database, OPERATOR, id, route);
    const user = await addUser(this.database, OPERATOR, this.gateway.credentialKey, `shop${number}`, {
      merchant: id,
    });
    const api = this.gateway.as(user);
    return {
      organisation,
      id,
      user,
      api,
      pay: (payment = {}) => api.purchase({ merchant: id, ...payment }),
      linkOf: async (answer) => {
        const [row] = await this.gateway.sql<{ acquirer: string }>(
          'SELECT acquirer FROM transaction WHERE organisation_id = $1 AND audit = $2',
          [organisation, auditOf(answer)],
        );
        return row?.acquirer;
      },
    };
  }
}

export function auditOf({ headers }: Answer): number {
  return Number(headers.get('location')?.split('/').at(-1));
}

/** What came to a host, but for what concerns its connections: `0200 T1`. */
export function heard(host: Host, after = 0): string[] {
  return host.seen
    .after(after)
    .filter(({ mti }) => mti !== NETWORK)
    .map(({ mti, fields }) => `${mti} ${fields[41]?.trim()}`);
}
