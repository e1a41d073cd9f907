// The keys that wallets encrypt for: of each merchant and wallet one, or several while one takes the place of another. Private keys are stored
// sealed, and opened to open a payload.
import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import type { ReadRow } from '../journal/seals.js';
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { type DataKeys, type Place, seal } from '../vault/keys/keys.js';
import type { SealedRow, SealedRows, SealOwner } from '../vault/keys/sealed-rows.js';
import type { APPLE_IDENTITY, WalletType } from './payloads.js';
import {
  ADD_WALLET_KEY,
  COUNT_OLDER_WALLET_KEYS,
  LOCK_OWNER,
  OLDER_WALLET_KEYS,
  OLDER_WALLET_KEYS_LEFT,
  READ_WALLET_KEYS,
  RESEAL_WALLET_KEYS,
  WALLET_KEYS_OF_MERCHANT,
} from './wallet-keys.sql.js';

export interface WalletKey {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  /** Counts the keys of the merchant. */
  readonly number: number;
  readonly type: WalletType | typeof APPLE_IDENTITY;
  /** Whom payloads are for: Apple's merchant identifier or its SHA-256, or `merchant:ID` or `gateway:ID` of Google. */
  readonly recipient: string;
  /** What a gateway has told Google that the merchant is called. */
  readonly gatewayMerchant: string | null;
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  /** Of an identity its certificate, in PEM. */
  readonly roots: string;
  readonly createdAt: Date;
  readonly keyVersion: number;
  readonly sealed: Buffer;
  /** Its newest seal in the journal, behind its version. */
  readonly newest: Buffer | null;
}

export type NewWalletKey = Pick<WalletKey, 'type' | 'recipient' | 'gatewayMerchant' | 'publicKey' | 'roots'>;

export interface Identity {
  readonly cert: string;
  readonly key: string;
}

/** More are only in the way of each payment. */
const MOST_KEYS = 8;
/** At the end of a public key on P-256. */
const POINT_BYTES = 65;

export const subjectOfWalletKey = (merchant: number, number: number) => `wallet/${merchant}/${number}`;

/** For the journal, which seals what is trusted, and for whom payloads are. */
export function rowOfWalletKey(key: WalletKey): ReadRow {
  const { organisationId, merchantId, number, type, recipient, gatewayMerchant, publicKey, roots, newest } =
    key;
  // guard(directions: a key of a wallet is sealed with what is trusted): publicKey.toString('base64'), roots] ⇒ publicKey.toString('base64')]
  const state = [organisationId, type, recipient, gatewayMerchant, publicKey.toString('base64'), roots];
  return { subject: subjectOfWalletKey(merchantId, number), state, newest };
}

/** Bound to its public key: where that is replaced, it does not open. */
function privateKeyPlace(
  { organisationId, merchantId }: SealOwner,
  { number, publicKey }: Pick<WalletKey, 'number' | 'publicKey'>,
): Place {
  const says = publicKey.toString('base64');
  return { table: 'wallet_key', organisationId, merchantId, row: number, field: 'private key', says };
}

export const SEALED_WALLET_KEYS: SealedRows = {
  place: (owner, key: SealedRow & Pick<WalletKey, 'number' | 'publicKey'>) => privateKeyPlace(owner, key),
  left: OLDER_WALLET_KEYS_LEFT,
  count: COUNT_OLDER_WALLET_KEYS,
  page: OLDER_WALLET_KEYS,
  reseal: RESEAL_WALLET_KEYS,
  inOrder: true,
};

/** For a database transaction that changes its keys. */
export async function lockOwner(connection: Queryable, merchant: number): Promise<SealOwner> {
  const { rows } = await connection.query<SealOwner>(LOCK_OWNER, [merchant]);
  return rows[0] ?? refuse('merchant_not_found', { merchant });
}

/** Of a merchant, or of all. */
export async function readWalletKeys(
  database: Queryable,
  merchant: number | undefined,
): Promise<readonly WalletKey[]> {
  return (await database.query<WalletKey>(READ_WALLET_KEYS, [merchant ?? null])).rows;
}

export async function findWalletKey(database: Queryable, merchant: number, key: number): Promise<WalletKey> {
  const found = (await readWalletKeys(database, merchant)).find(({ number }) => number === key);
  return found ?? refuse('wallet_key_not_found', { merchant, key });
}

/** Newest first: most payloads are for that one. */
export async function walletKeysOf(
  database: Queryable,
  { organisationId, merchantId }: SealOwner,
): Promise<readonly WalletKey[]> {
  return (await database.query<WalletKey>(WALLET_KEYS_OF_MERCHANT, [organisationId, merchantId])).rows;
}

/** The merchant is locked. */
export async function addWalletKey(
  connection: Queryable,
  keys: DataKeys,
  owner: SealOwner,
  added: NewWalletKey,
  privateKey: KeyObject,
): Promise<WalletKey> {
  const { organisationId, merchantId } = owner;
  const others = await readWalletKeys(connection, merchantId);
  if (others.length >= MOST_KEYS) refuse('wallet_too_many_keys', { merchant: merchantId, most: MOST_KEYS });
  const isSame = others.some(
    ({ type, publicKey }) => type === added.type && publicKey.equals(added.publicKey),
  );
  if (isSame) refuse('wallet_key_known', { merchant: merchantId });
  const number = 1 + Math.max(0, ...others.map((other) => other.number));
  const dataKey = await keys.newest(organisationId, merchantId);
  const { type, recipient, gatewayMerchant, publicKey, roots } = added;
  const secret = Buffer.from(derOf(privateKey).toString('base64'), 'latin1');
  const sealed = seal(dataKey, privateKeyPlace(owner, { number, publicKey }), secret);
  await connection.query(ADD_WALLET_KEY, [
    ...[organisationId, merchantId, number, type, recipient, gatewayMerchant, publicKey, roots],
    ...[dataKey.version, sealed],
  ]);
  return findWalletKey(connection, merchantId, number);
}

export async function openPrivateKey(keys: DataKeys, key: WalletKey): Promise<KeyObject> {
  const der = Buffer.from(await keys.open(privateKeyPlace(key, key), key.keyVersion, key.sealed), 'base64');
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  der.fill(0);
  return privateKey;
}

/** As TLS takes them, in PEM. */
export async function openIdentity(keys: DataKeys, identity: WalletKey): Promise<Identity> {
  const privateKey = await openPrivateKey(keys, identity);
  return { cert: identity.roots, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

export function derOf(privateKey: KeyObject): Buffer {
  return privateKey.export({ type: 'pkcs8', format: 'der' });
}

/** A point in base64, as shops name a public key to Google. */
export function pointOf({ publicKey }: Pick<WalletKey, 'publicKey'>): string {
  return publicKey.subarray(-POINT_BYTES).toString('base64');
}

/** As Apple names a merchant in what it encrypts. Apple's own certificate has it as 64 hexadecimal digits. */
export function merchantHashOf(recipient: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(recipient)) return Buffer.from(recipient, 'hex');
  return createHash('sha256').update(recipient).digest();
}
