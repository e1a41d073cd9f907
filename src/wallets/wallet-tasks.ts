// Keys of wallets as operators see them: made or brought along, listed, followed by others, removed; and what is trusted with each.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { type JournalAction, journal } from '../journal/journal.js';
import { checkSeal } from '../journal/seals.js';
import { checkMerchant } from '../organisations/merchants.js';
import type { Database, Queryable } from '../postgres/database.js';
import { choice, count, fileContent, ID, TEXT } from '../tasks/kinds.js';
import { type Doing, needed, optional, task } from '../tasks/task.js';
import type { MerchantId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { DataKeys } from '../vault/keys/keys.js';
import { APPLE_IDENTITY, WALLETS, type WalletType } from './payloads.js';
import { readAppleRoots, readGoogleRoots } from './roots.js';
import { signingRequest } from './signing-request.js';
import {
  addWalletKey,
  findWalletKey,
  lockOwner,
  type NewWalletKey,
  pointOf,
  readWalletKeys,
  rowOfWalletKey,
  subjectOfWalletKey,
  type WalletKey,
} from './wallet-keys.js';
import { REMOVE_WALLET_KEY, SET_WALLET_ROOTS } from './wallet-keys.sql.js';

export interface WalletKeyView {
  readonly merchant: MerchantId;
  readonly key: number;
  readonly type: WalletKey['type'];
  readonly recipient: string;
  readonly gatewayMerchant: string | null;
  /** For Google: the point in base64, as shops name it to Google. For Apple: its SubjectPublicKeyInfo in base64. */
  readonly publicKey: string;
  readonly createdAt: Date;
}

export interface NewWalletKeyView extends WalletKeyView {
  /** For Apple, which certifies the key by it; in PEM. */
  readonly signingRequest: string | null;
}

const CURVE = 'prime256v1';

interface Wish {
  readonly merchant: number;
  readonly type: WalletType;
  readonly recipient: string;
  readonly gatewayMerchant?: string | undefined;
  readonly roots: string;
  /** In PEM. */
  readonly privateKey?: string | undefined;
}

async function add(
  database: Database,
  actor: string,
  provider: KeyProvider,
  { merchant, type, recipient, gatewayMerchant: named, roots, privateKey }: Wish,
): Promise<NewWalletKeyView> {
  const gatewayMerchant = named ?? null;
  checkRecipient(type, recipient, gatewayMerchant);
  checkRoots(type, roots);
  const pair = pairOf(privateKey);
  return database.transaction((connection) => {
    const added = { type, recipient, gatewayMerchant, publicKey: pair.publicKey, roots };
    return store(connection, actor, { provider, merchant, action: 'wallet.added', ...pair }, added);
  });
}

/** By which Apple knows the merchant, when a page of its asks for a payment. */
async function identify(
  database: Database,
  actor: string,
  provider: KeyProvider,
  wish: {
    readonly merchant: number;
    readonly recipient: string;
    readonly certificate: string;
    readonly privateKey: string;
  },
): Promise<WalletKeyView> {
  const { merchant, recipient } = wish;
  checkRecipient('apple_pay', recipient, null);
  const { certificate, privateKey } = readIdentity(wish);
  const publicKey = certificate.publicKey.export({ type: 'spki', format: 'der' });
  // Written anew: what else is in the file may be secret.
  const added: NewWalletKey = {
    type: APPLE_IDENTITY,
    recipient,
    gatewayMerchant: null,
    publicKey,
    roots: certificate.toString(),
  };
  return database.transaction(async (connection) => {
    const by = { provider, merchant, action: 'wallet.added', privateKey } as const;
    const { signingRequest: _, ...view } = await store(connection, actor, by, added);
    return view;
  });
}

/** Another key for the same, beside it: payloads are encrypted for the old one until everybody has the new one. */
async function rotate(
  database: Database,
  actor: string,
  provider: KeyProvider,
  { merchant, key, privateKey }: { merchant: number; key: number; privateKey?: string | undefined },
): Promise<NewWalletKeyView> {
  const pair = pairOf(privateKey);
  return database.transaction(async (connection) => {
    await lockOwner(connection, merchant);
    const known = await findSealed(connection, merchant, key);
    const { recipient, gatewayMerchant, roots } = known;
    const type = encryptedFor(known);
    const added = { type, recipient, gatewayMerchant, publicKey: pair.publicKey, roots };
    return store(connection, actor, { provider, merchant, action: 'wallet.rotated', ...pair }, added);
  });
}

async function store(
  connection: Queryable,
  actor: string,
  {
    provider,
    merchant,
    action,
    privateKey,
  }: {
    readonly provider: KeyProvider;
    readonly merchant: number;
    readonly action: JournalAction;
    readonly privateKey: KeyObject;
  },
  added: NewWalletKey,
): Promise<NewWalletKeyView> {
  const owner = await lockOwner(connection, merchant);
  const key = await addWalletKey(connection, new DataKeys(connection, provider), owner, added, privateKey);
  await journalKey(connection, actor, action, key);
  const isApple = key.type === 'apple_pay';
  const request = isApple ? signingRequest(privateKey, key.publicKey, key.recipient) : null;
  return { ...viewOf(key), signingRequest: request };
}

async function setRoots(
  database: Database,
  actor: string,
  { merchant, key, roots }: { readonly merchant: number; readonly key: number; readonly roots: string },
): Promise<WalletKeyView> {
  return database.transaction(async (connection) => {
    await lockOwner(connection, merchant);
    const known = await findSealed(connection, merchant, key);
    const { organisationId, merchantId } = known;
    checkRoots(encryptedFor(known), roots);
    await connection.query(SET_WALLET_ROOTS, [organisationId, merchantId, key, roots]);
    const changed = await findWalletKey(connection, merchant, key);
    await journalKey(connection, actor, 'wallet.roots_set', changed);
    return viewOf(changed);
  });
}

/** Also one that somebody has changed in the database. What is encrypted for it is not opened any more. */
async function remove(
  database: Database,
  actor: string,
  { merchant, key }: { readonly merchant: number; readonly key: number },
): Promise<WalletKeyView> {
  return database.transaction(async (connection) => {
    await lockOwner(connection, merchant);
    const removed = await findWalletKey(connection, merchant, key);
    const { organisationId, merchantId } = removed;
    await connection.query(REMOVE_WALLET_KEY, [organisationId, merchantId, key]);
    const entry = entryOf(actor, 'wallet.removed', removed);
    await journal(connection, entry, { subject: subjectOfWalletKey(merchantId, key), state: null });
    return viewOf(removed);
  });
}

async function list(database: Queryable, merchant: number): Promise<WalletKeyView[]> {
  await checkMerchant(database, merchant);
  return (await readWalletKeys(database, merchant)).map(viewOf);
}

async function findSealed(connection: Queryable, merchant: number, key: number): Promise<WalletKey> {
  const found = await findWalletKey(connection, merchant, key);
  await checkSeal(connection, rowOfWalletKey(found));
  return found;
}

function journalKey(
  connection: Queryable,
  actor: string,
  action: JournalAction,
  key: WalletKey,
): Promise<void> {
  return journal(connection, entryOf(actor, action, key), rowOfWalletKey(key));
}

function entryOf(
  actor: string,
  action: JournalAction,
  { organisationId, merchantId, number, type, recipient }: WalletKey,
) {
  return { actor, action, organisationId, merchantId, detail: `key ${number}, ${type}, ${recipient}` };
}

function viewOf(row: WalletKey) {
  const { merchantId, number, type, recipient, gatewayMerchant, publicKey, createdAt } = row;
  const view: WalletKeyView = {
    merchant: merchantId,
    key: number,
    type,
    recipient,
    gatewayMerchant,
    publicKey: type === 'google_pay' ? pointOf(row) : publicKey.toString('base64'),
    createdAt,
  };
  return view;
}

/** A new one, or the one that was brought along. */
function pairOf(pem: string | undefined): { readonly privateKey: KeyObject; readonly publicKey: Buffer } {
  const privateKey =
    pem === undefined ? generateKeyPairSync('ec', { namedCurve: CURVE }).privateKey : readKey(pem);
  const publicKey = createPublicKey(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return { privateKey, publicKey: publicKey.export({ type: 'spki', format: 'der' }) };
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyDetails?.namedCurve === CURVE) return key;
  } catch {
    // Without what OpenSSL says, which may quote the key.
  }
  return refuse('wallet_key_unreadable');
}

function readIdentity({ certificate: pem, privateKey: secret }: { certificate: string; privateKey: string }) {
  try {
    const certificate = new X509Certificate(pem);
    const privateKey = createPrivateKey(secret);
    if (certificate.checkPrivateKey(privateKey)) return { certificate, privateKey };
  } catch {
    // Without what OpenSSL says, which may quote the key.
  }
  return refuse('wallet_identity_unreadable');
}

/** What is encrypted for it. */
function encryptedFor({ type, merchantId: merchant, number: key }: WalletKey): WalletType {
  return type === APPLE_IDENTITY ? refuse('wallet_key_is_identity', { merchant, key }) : type;
}

function checkRecipient(type: WalletType, recipient: string, gatewayMerchant: string | null): void {
  const form =
    type === 'apple_pay' ? /^[A-Za-z0-9._-]{1,128}$/ : /^(?:merchant|gateway):[A-Za-z0-9._-]{1,128}$/;
  if (!form.test(recipient)) refuse('wallet_recipient_not_allowed');
  if (recipient.startsWith('gateway:') !== (gatewayMerchant !== null)) refuse('wallet_gateway_merchant');
}

function checkRoots(type: WalletType, roots: string): void {
  const read = type === 'apple_pay' ? readAppleRoots(roots) : readGoogleRoots(roots);
  if (read === undefined) refuse('wallet_roots_unreadable');
}

type WithKeys = Doing<{ provider(): Promise<KeyProvider> }>;

const MERCHANT = needed(ID, '--merchant <id>', 'the merchant', { names: 'merchants' });
const KEY = needed(count(), '--key <number>', 'which of its keys');
const ROOTS = needed(
  fileContent(),
  '--roots-file <file>',
  'whom to trust: Apple’s root certificate in PEM, or Google’s root keys as Google publishes them',
);
const PRIVATE_KEY = optional(
  fileContent(),
  '--key-file <file>',
  'an own private key on P-256 in PEM, instead of a new one',
);

const isThere = ({ merchant, key }: WalletKeyView) =>
  `Merchant ${merchant} has key ${key} for payments by wallet.`;

export const WALLET_KEYS = {
  name: 'wallet',
  help: 'the keys that Apple Pay and Google Pay encrypt payments for',
  tasks: [
    task({
      name: 'wallet add',
      help: 'give a merchant a key for a wallet, and print what the wallet has to know of it',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /wallets/:merchant/add',
      fresh: true,
      input: {
        merchant: MERCHANT,
        type: needed(choice(...WALLETS), '--type <wallet>', 'the wallet'),
        recipient: needed(
          TEXT,
          '--recipient <id>',
          'the merchant identifier at Apple, or merchant:ID or gateway:ID at Google',
        ),
        gatewayMerchant: optional(
          TEXT,
          '--gateway-merchant <id>',
          'what the merchant is called at a gateway:ID of Google',
        ),
        roots: ROOTS,
        privateKey: PRIVATE_KEY,
      },
      run: async ({ database, actor, means }: WithKeys, wish) =>
        add(database, actor, await means.provider(), wish),
      says: isThere,
    }),
    task({
      name: 'wallet identify',
      help: 'give a merchant the certificate by which Apple lets pages of checkouts ask for Apple Pay',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /wallets/:merchant/identify',
      fresh: true,
      input: {
        merchant: MERCHANT,
        recipient: needed(TEXT, '--recipient <id>', 'the merchant identifier at Apple'),
        certificate: needed(
          fileContent(),
          '--certificate-file <file>',
          'the Merchant Identity Certificate of Apple, in PEM',
        ),
        privateKey: needed(fileContent(), '--key-file <file>', 'its private key, in PEM'),
      },
      run: async ({ database, actor, means }: WithKeys, wish) =>
        identify(database, actor, await means.provider(), wish),
      says: ({ merchant, key }) => `Merchant ${merchant} has key ${key}, by which Apple knows it.`,
    }),
    task({
      name: 'wallet rotate',
      help: 'give a merchant another key beside this one, for the same wallet and with the same trust',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /wallets/:merchant/rotate',
      fresh: true,
      input: { merchant: MERCHANT, key: KEY, privateKey: PRIVATE_KEY },
      run: async ({ database, actor, means }: WithKeys, wish) =>
        rotate(database, actor, await means.provider(), wish),
      says: isThere,
    }),
    task({
      name: 'wallet trust',
      help: 'say anew whom to trust with a key, such as when Google publishes other root keys',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /wallets/:merchant/trust',
      fresh: true,
      input: { merchant: MERCHANT, key: KEY, roots: ROOTS },
      run: ({ database, actor }, wish) => setRoots(database, actor, wish),
      says: isThere,
    }),
    task({
      name: 'wallet remove',
      help: 'remove a key: what is encrypted for it is not opened any more',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /wallets/:merchant/remove',
      fresh: true,
      input: { merchant: MERCHANT, key: KEY },
      run: ({ database, actor }, wish) => remove(database, actor, wish),
      says: ({ merchant, key }) => `Key ${key} of merchant ${merchant} is removed.`,
    }),
    task({
      name: 'wallet list',
      help: 'list the keys of a merchant for wallets',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /wallets',
      input: { merchant: MERCHANT },
      run: ({ database }, { merchant }) => list(database, merchant),
    }),
  ],
} as const;
