// The demo: an organisation with three merchants and a user, so that a newcomer can make a payment within a minute.

import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ATTEMPTS, Checkouts, EXPIRES_IN_S } from '../checkout/checkouts.js';
import { MERCHANTS_OF_CHECKOUTS } from '../checkout/checkouts.sql.js';
import { gatewayTime } from '../clock/gateway-clock.js';
import { addOperator, linkOperator, listOperators } from '../operators/operators.js';
import { addMerchant } from '../organisations/merchants.js';
import { addOrganisation } from '../organisations/organisations.js';
import { setSurcharges } from '../organisations/surcharges.js';
import { type CredentialKey, makeSecret } from '../organisations/users/credentials.js';
import { addUser, isSecretOf, listUsers } from '../organisations/users/users.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { cents } from '../values/money.js';
import { Refusal } from '../values/refusal.js';
import { writeText } from '../values/whole-file.js';
import type { DataKeys } from '../vault/keys/keys.js';
import { LOCK_DEMO } from './demo.sql.js';
import { DEMO_ORGANISATION, DEMO_USERNAME } from './organisation.js';

const DEMO_OPERATOR = 'operator:demo';

export interface Demo {
  readonly base_url: string;
  readonly username: string;
  readonly password: string;
  readonly merchants: readonly number[];
  /** Opens the console, once, within 15 minutes. */
  readonly console_url?: string;
}

/**
 * Creates the demo unless it exists. Its secret waits beside `demo.json`, which `updateDemoFile` writes: when that file exists, the
 * gateway is listening.
 */
export async function makeDemo(database: Database, key: CredentialKey, dataDir: string): Promise<void> {
  // Two gateways that start at the same time create it once.
  await database.transaction(async (connection) => {
    await connection.query(LOCK_DEMO);
    const users = await listUsers(connection, key);
    if (users.some((user) => user.username === DEMO_USERNAME)) return;
    const organisation = await addOrganisation(connection, DEMO_OPERATOR, DEMO_ORGANISATION);
    const add = (name: string, vault: boolean) =>
      addMerchant(connection, DEMO_OPERATOR, organisation.id, name, { vault });
    const first = await add('Demo with vault', true);
    const second = await add('Demo with vault and surcharge', true);
    await setSurcharges(connection, DEMO_OPERATOR, second.id, [
      { scope: 'default', thousandths: 1_500 },
      { scope: 'card:amex', thousandths: 2_900 },
    ]);
    const third = await add('Demo without vault', false);
    // The file first: a secret that is not valid yet does no harm, while a lost one would be useless.
    const password = makeSecret();
    const merchants = [first.id, second.id, third.id];
    await writeDemo(waitingFile(dataDir), { base_url: '', username: DEMO_USERNAME, password, merchants });
    const grants = [second.id, third.id];
    await addUser(connection, DEMO_OPERATOR, key, DEMO_USERNAME, { merchant: first.id, grants, password });
  });
}

/** A link that opens the console. Undefined if the demo's operator was removed, or belongs to somebody. */
export async function demoLink(
  database: Database,
  key: CredentialKey,
  consoleUrl: string,
): Promise<string | undefined> {
  try {
    return await database.transaction(async (connection) => {
      await connection.query(LOCK_DEMO);
      const operator = (await listOperators(connection, key)).find(({ name }) => name === DEMO_USERNAME);
      const made =
        operator === undefined
          ? addOperator(connection, DEMO_OPERATOR, key, consoleUrl, DEMO_USERNAME, {
              role: 'administrator',
              isDemo: true,
            })
          : linkOperator(connection, DEMO_OPERATOR, key, consoleUrl, DEMO_USERNAME);
      return (await made).link;
    });
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** The page of a payment to try. Made anew at each start: the one before may be paid. */
export async function demoCheckout(
  database: Database,
  keys: DataKeys,
  checkoutUrl: string,
  { merchants: [merchantId] }: Demo,
): Promise<string> {
  const checkouts = new Checkouts({ database, leases: database, keys, onBroken: () => {} });
  const { rows } = await database.query<{ organisation: OrganisationId; id: MerchantId }>(
    MERCHANTS_OF_CHECKOUTS,
    [merchantId],
  );
  const [merchant] = rows;
  if (merchant === undefined) throw new Error('the demo has no merchant');
  const { checkout } = await checkouts.create({
    organisationId: merchant.organisation,
    merchantId: merchant.id,
    correlationId: `demo-${randomUUID()}`,
    nowMs: Math.round(await gatewayTime(database)),
    expiresInS: EXPIRES_IN_S.most,
    attemptsAllowed: ATTEMPTS.most,
    terms: {
      reference: 'my first checkout',
      operation: 'purchase',
      paymentMethods: ['creditcard', 'bankaccount'],
      description: 'A first payment, to see what payers see',
      amountCents: cents(1_995),
      currency: 'AUD',
    },
    userId: 0,
  });
  return `${checkoutUrl}/${checkout.id}`;
}

/** Updates the addresses in the file, and returns its content. */
export async function updateDemoFile(
  dataDir: string,
  baseUrl: string,
  consoleUrl?: string,
): Promise<Demo | undefined> {
  const demo = (await readDemo(waitingFile(dataDir))) ?? (await readDemo(demoFile(dataDir)));
  if (demo === undefined) return undefined;
  const { console_url: _, ...rest } = demo;
  const current = {
    ...rest,
    base_url: baseUrl,
    ...(consoleUrl !== undefined && { console_url: consoleUrl }),
  };
  await writeDemo(demoFile(dataDir), current);
  await rm(waitingFile(dataDir), { force: true });
  return current;
}

/** Whether the user's secret is the one in the file. It differs after the user was revoked or rotated elsewhere. */
export async function demoWorks(database: Queryable, key: CredentialKey, dataDir: string): Promise<boolean> {
  const demo = (await readDemo(waitingFile(dataDir))) ?? (await readDemo(demoFile(dataDir)));
  return demo === undefined || isSecretOf(database, key, demo.username, demo.password);
}

/**
 * Before a user's rotation: whether the demo's file holds the current secret, and so must be updated. The data directory may
 * belong to another database, whose user has the same name.
 */
export async function demoFileToUpdate(
  database: Queryable,
  key: CredentialKey,
  dataDir: string,
  username: string,
): Promise<((password: string) => Promise<string>) | undefined> {
  const file = demoFile(dataDir);
  const demo = await readDemo(file);
  if (demo?.username !== username || !(await isSecretOf(database, key, username, demo.password)))
    return undefined;
  return async (password) => {
    await writeDemo(file, { ...demo, password });
    return file;
  };
}

/** A first purchase to paste into a terminal. The command reads the secret from the file, so that no log has it. */
export function demoCurl({ base_url, username, merchants }: Demo, dataDir: string): string {
  const nearby = relative(process.cwd(), demoFile(dataDir));
  const file = nearby.startsWith('..') ? demoFile(dataDir) : nearby;
  const body = JSON.stringify({
    merchant: { id: merchants[0] },
    transaction: {
      reference: 'my first purchase',
      amount_details: { total_amount: '1995', currency: 'AUD' },
      payment_method: { creditcard: { pan: '4111111111111111', expiry_date: '1230', cvv: '123' } },
    },
  });
  return [
    `curl -s ${base_url}/transactions/purchase \\`,
    `  -u "${username}:$(node -p 'JSON.parse(fs.readFileSync(${inShell(file)})).password')" \\`,
    `  -H "X-Correlation-Id: $(node -p 'crypto.randomUUID()')" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${body}'`,
  ].join('\n');
}

/** A JavaScript string, between the apostrophes of a shell. */
function inShell(text: string): string {
  return JSON.stringify(text).replaceAll("'", "'\\''");
}

function demoFile(dataDir: string): string {
  return join(dataDir, 'demo.json');
}

function waitingFile(dataDir: string): string {
  return join(dataDir, 'demo.waiting.json');
}

async function readDemo(file: string): Promise<Demo | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Demo;
  } catch {
    return undefined;
  }
}

async function writeDemo(file: string, demo: Demo): Promise<void> {
  await writeText(file, 'replace', `${JSON.stringify(demo, null, 2)}\n`);
}
