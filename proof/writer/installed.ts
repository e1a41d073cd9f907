// The installation under attack: two gateways, a merchant over an ISO 8583 host and one over the simulator, and everything that directs cards
// and money. An API user and an operator have lost their rights before the attack begins.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import { basicAuthorization, CARD, cardAccount, paymentBody } from '../../testkit/bodies.js';
import { call } from '../../testkit/caller.js';
import type { Chance } from '../../testkit/chance.js';
import { freePort } from '../../testkit/gateway-process.js';
import { type AttackedGateway, Installation, type InstalledDatabase } from '../../testkit/installation.js';
import { copyPreparedCluster } from '../../testkit/prepared-cluster.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { startReceiver, type WebhookReceiver } from '../../testkit/webhook-receiver.js';
import { IsoAcquirer } from '../arena/iso-acquirer.js';
import { Shop } from '../arena/shop.js';
import { storeCards, tradeTogether, type VirtualPans } from '../arena/trade.js';
import { People } from './people.js';
import { type Image, imagesOf, type Table } from './rows.js';
import type { Thief } from './thief.js';

const MOST_EARLIER = 200;
const OLD_TRADERS = 4;
/** By then every gateway has read that a link has changed. */
const READ_AGAIN_MS = 6_000;
const DEBITS = 3;

/** A gateway that is started again when it ends. */
export class KeptGateway {
  #gateway: AttackedGateway;
  #earlierOutput = '';
  #isOver = false;
  restarts = 0;

  private constructor(
    private readonly start: () => Promise<AttackedGateway>,
    gateway: AttackedGateway,
    readonly consolePort: number,
  ) {
    this.#gateway = gateway;
    void this.#keep();
  }

  static async start(installation: Installation<InstalledDatabase>): Promise<KeptGateway> {
    const consolePort = await freePort();
    const settings = { CONSOLE_PORT: `${consolePort}` };
    const start = () => installation.startedGateway(settings, undefined, 'everything');
    return new KeptGateway(start, await start(), consolePort);
  }

  get baseUrl(): string {
    return this.#gateway.baseUrl;
  }

  get operatorsUrl(): string {
    return `http://127.0.0.1:${this.consolePort}`;
  }

  output(): string {
    return this.#earlierOutput + this.#gateway.output();
  }

  leave(): void {
    this.#isOver = true;
  }

  async #keep(): Promise<void> {
    for (;;) {
      await this.#gateway.ended;
      if (this.#isOver) return;
      this.restarts += 1;
      this.#earlierOutput += `${this.#gateway.output()}\n`;
      // The change that ended it may still be there.
      await this.start().then(
        (gateway) => {
          this.#gateway = gateway;
        },
        () => sleep(500),
      );
    }
  }
}

interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface Installed {
  readonly installation: Installation<InstalledDatabase>;
  readonly logins: { readonly serving: string; readonly operating: string };
  readonly superuser: pg.Client;
  readonly gateways: readonly KeptGateway[];
  readonly acquirer: IsoAcquirer;
  readonly receiver: WebhookReceiver;
  readonly people: People;
  readonly users: { readonly reader: Credentials; readonly revoked: Credentials };
  readonly merchants: { readonly host: number; readonly simulator: number };
  /** One for each merchant, with its orders from before the attack. */
  readonly shops: readonly Shop[];
  readonly virtualPans: VirtualPans;
  /** By table: rows as they were before operators changed them. */
  readonly earlier: ReadonlyMap<string, readonly Image[]>;
}

export async function install(options: {
  readonly thief: Thief;
  readonly random: Chance;
  readonly readTables: (superuser: pg.Client) => Promise<ReadonlyMap<string, Table>>;
  readonly oldSeconds: number;
}): Promise<Installed> {
  const { thief, random } = options;
  const folder = temporaryFolder('writer');
  await copyPreparedCluster(folder);
  const server = await openEmbeddedPostgres({ dataDir: folder });
  const { logins } = server;
  const installation = await Installation.on(
    {
      // Who serves has a login of its own.
      killable: true,
      openDatabase: async () => ({ url: server.url, lastingUrl: logins.serving, stop: () => server.stop() }),
    },
    {
      MIGRATING_DATABASE_URL: logins.migrating,
      OPERATING_DATABASE_URL: logins.operating,
      RESOLVER_INTERVAL_MS: '100',
      RESOLVER_FIRST_PAUSE_MS: '100',
      RESOLVER_LONGEST_PAUSE_MS: '1000',
      WEBHOOK_NETWORKS: '127.0.0.0/8',
    },
  );
  let virtualPans: VirtualPans = new Map();
  await installation.prepare(
    async (client) => {
      virtualPans = await storeCards(client);
      const customer = await client.customers.create({ reference: 'victim', name: 'Ada Lovelace' });
      const account = cardAccount({ 'CARD.PAN': CARD });
      await client.tokens.create(customer.id, { preferred_name: 'victim', active: true, account });
    },
    { isInRealTime: true },
  );
  const acquirer = await IsoAcquirer.start(installation, random.fork());
  const receiver = await startReceiver();
  const merchants = { host: installation.merchantId, simulator: installation.merchantId + 1 };
  const users = await direct(installation, { merchants, thief, receiver });

  const gateways = [await KeptGateway.start(installation), await KeptGateway.start(installation)];
  const shops = Object.values(merchants).map(
    (merchantId) =>
      new Shop({ gateways, random: random.fork(), authorization: installation.authorization, merchantId }),
  );
  await tradeOfOld({ installation, gateways, shops, virtualPans, ...options });

  const superuser = new pg.Client({ connectionString: server.url });
  await superuser.connect();
  await superuser.query('SET session_replication_role = replica');
  const tables = await options.readTables(superuser);
  const earlier = await imagesOfAll(superuser, tables);
  const command = (line: string) => installation.command(...line.split(' '));
  await command(`acquirer set spare --address ${acquirer.host.address}`);
  await command('user revoke revoked');
  await command(`merchant set ${merchants.simulator} --card-days 90`);
  const people = await People.enrolled(
    {
      port: (gateways[0] as KeptGateway).consolePort,
      dataDir: installation.dataDir,
      operatingUrl: logins.operating,
    },
    async () => {
      const now = await imagesOfAll(superuser, tables);
      for (const name of ['operator', 'operator_session']) earlier.set(name, now.get(name) ?? []);
    },
  );
  await sleep(READ_AGAIN_MS);
  await thief.listen();
  const known = { installation, logins, superuser, gateways, acquirer, receiver, people, users, merchants };
  return { ...known, shops, virtualPans, earlier };
}

/** As operators do. */
async function direct(
  installation: Installation<InstalledDatabase>,
  { merchants, thief, receiver }: Pick<Installed, 'merchants' | 'receiver'> & { readonly thief: Thief },
): Promise<Installed['users']> {
  const command = (line: string) => installation.command(...line.split(' '));
  const { host, simulator } = merchants;
  const debited = simulator + 1;
  await command(`route set --merchant ${host} --acquirer host --order 1`);
  // This host will move, and its former address will be the thief's.
  await command(`acquirer add spare --kind iso8583 --test --address ${thief.address} --institution 560279`);
  // Not in force yet, so that amounts are as the shop asks.
  await command(`surcharge off --merchant ${simulator}`);
  await command(`surcharge set --merchant ${simulator} --default 1.5 --from 2099-01-01`);
  await command(`webhook add ${receiver.url} --merchant ${host}`);
  const bank =
    '--bank CBA --user-id 301500 --trace-bsb 062-000 --trace-account 12345678 --remitter SHOP --user-name SHOP';
  await command(`directdebit set --merchant ${debited} ${bank} --simulated`);
  const user = async (words: string) => JSON.parse(await command(`user add ${words} --json`)) as Credentials;
  return {
    reader: await user(`reader --merchant ${simulator} --allow read`),
    revoked: await user(`revoked --merchant ${host}`),
  };
}

/** These payments are finished before the attack, so that no trader works on a payment that is changed. */
async function tradeOfOld({
  installation,
  gateways,
  shops,
  random,
  virtualPans,
  oldSeconds,
}: Pick<Installed, 'installation' | 'gateways' | 'shops' | 'virtualPans'> & {
  readonly random: Chance;
  readonly oldSeconds: number;
}): Promise<void> {
  const [gateway] = gateways as [KeptGateway];
  const caller = { baseUrl: gateway.baseUrl, authorization: installation.authorization };
  const debited = installation.merchantId + 2;
  for (let place = 0; place < DEBITS; place += 1) {
    const body = paymentBody({ merchant: debited, bankAccount: {}, reference: `old-debit-${place}` });
    await call(caller, 'POST', '/transactions/purchase', { body });
  }
  const untilMs = performance.now() + oldSeconds * 1_000;
  await tradeWith(shops, {
    random,
    virtualPans,
    name: 'old',
    traders: OLD_TRADERS,
    isOver: () => performance.now() > untilMs,
  });
}

export async function tradeWith(
  shops: readonly Shop[],
  {
    virtualPans,
    traders,
    name,
    random,
    isOver,
  }: {
    readonly virtualPans: VirtualPans;
    readonly traders: number;
    readonly name: string;
    readonly random: Chance;
    readonly isOver: () => boolean;
  },
): Promise<void> {
  await Promise.all(
    shops.map((shop, place) =>
      tradeTogether(Math.ceil(traders / shops.length), {
        shop,
        random: random.fork(),
        name: `${name}-${place}`,
        // Only the merchant with the host has tokens.
        virtualPans: place === 0 ? virtualPans : new Map(),
        faultPercent: 3,
        isOver,
      }),
    ),
  );
}

async function imagesOfAll(
  superuser: pg.Client,
  tables: ReadonlyMap<string, Table>,
): Promise<Map<string, Image[]>> {
  const found = new Map<string, Image[]>();
  for (const name of tables.keys())
    found.set(name, await imagesOf(superuser, { table: name, where: 'true' }, MOST_EARLIER));
  return found;
}

export function authorizationOf({ username, password }: Credentials): string {
  return basicAuthorization({ username, password });
}
