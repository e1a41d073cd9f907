// Opens payloads of wallets with the keys of a merchant, and sees to it that each is paid with once.
import { createHash, createHmac, type KeyObject } from 'node:crypto';
import { fitNow } from '../journal/seals.js';
import type { Queryable } from '../postgres/database.js';
import { fault } from '../values/faults.js';
import { type DataKeys, SealBroken } from '../vault/keys/keys.js';
import type { SealOwner } from '../vault/keys/sealed-rows.js';
import { openApplePay } from './apple-pay.js';
import { openGooglePay } from './google-pay.js';
import { type OpenedPayload, PayloadRefused, type WhyRefused } from './opened.js';
import type { Payload } from './payloads.js';
import { readAppleRoots, readGoogleRoots } from './roots.js';
import {
  derOf,
  type Identity,
  merchantHashOf,
  openIdentity,
  openPrivateKey,
  rowOfWalletKey,
  type WalletKey,
  walletKeysOf,
} from './wallet-keys.js';
import { FORGET_PAYLOADS, GIVE_PAYLOAD_BACK, TAKE_PAYLOAD } from './wallets.sql.js';

/** An opened payload that no payment has taken yet. */
export interface Untaken extends Omit<OpenedPayload, 'id' | 'expiresMs'> {
  readonly tag: Buffer;
  readonly endsMs: number;
}

const DAY_MS = 86_400_000;

const FAULTS = {
  forged: 'wallet_token_forged',
  expired: 'wallet_token_expired',
  foreign: 'wallet_token_foreign',
  unusable: 'wallet_token_unusable',
} as const satisfies Record<WhyRefused, string>;

interface OpenedKey {
  readonly row: WalletKey;
  readonly privateKey: KeyObject;
}

export class Wallets {
  /** Payloads that were not paid with, by why. */
  readonly refused = new Map<WhyRefused | 'no_keys' | 'used', number>();

  constructor(
    private readonly database: Queryable,
    private readonly keys: DataKeys,
  ) {}

  async open(owner: SealOwner, payload: Payload, nowMs: number): Promise<Untaken> {
    const keys = await this.#keysFor(owner, payload);
    if (keys.length === 0) {
      this.#count('no_keys');
      throw fault('wallet_without_keys', 'wallet token');
    }
    let refused: PayloadRefused | undefined;
    // One key after the other: what was encrypted for one opens with no other.
    for (const key of keys) {
      try {
        const { id, expiresMs, ...opened } = openWith(key, payload, nowMs);
        // guard(wallets: a payload is remembered as long as it could be opened): Math.max(nowMs + DAY_MS, expiresMs) ⇒ nowMs
        return { ...opened, tag: tagOf(key, id), endsMs: Math.max(nowMs + DAY_MS, expiresMs) };
      } catch (error) {
        if (!(error instanceof PayloadRefused)) throw error;
        refused = moreTelling(refused, error);
      }
    }
    const why = refused?.why ?? 'foreign';
    this.#count(why);
    throw fault(FAULTS[why], 'wallet token');
  }

  /** Whether the payment under this correlation ID has it: no other has. */
  async take(owner: SealOwner, { tag, endsMs }: Untaken, correlationId: string): Promise<boolean> {
    const values = [owner.organisationId, tag, owner.merchantId, correlationId, endsMs];
    const isTaken = (await this.database.query(TAKE_PAYLOAD, values)).rows.length > 0;
    if (!isTaken) this.#count('used');
    return isTaken;
  }

  /** Nothing was paid with it, and it may be tried again under another correlation ID. */
  async giveBack(owner: SealOwner, { tag }: Untaken, correlationId: string): Promise<void> {
    await this.database.query(GIVE_PAYLOAD_BACK, [
      owner.organisationId,
      tag,
      owner.merchantId,
      correlationId,
    ]);
  }

  /** Those that are refused by their age. */
  async run(): Promise<void> {
    await this.database.query(FORGET_PAYLOADS);
  }

  /** Those that are as they were sealed, newest first. */
  async keysOf(owner: SealOwner): Promise<readonly WalletKey[]> {
    const sealed: WalletKey[] = [];
    for (const row of await walletKeysOf(this.database, owner)) {
      const fit = await fitNow(this.database, rowOfWalletKey(row));
      // guard(directions: a key of a wallet that somebody has changed is not used): fit.kind === 'misfit' ⇒ fit.version < 0
      if (fit.kind === 'misfit') continue;
      sealed.push(row);
    }
    return sealed;
  }

  identityOf(row: WalletKey): Promise<Identity> {
    return openIdentity(this.keys, row);
  }

  #count(why: WhyRefused | 'no_keys' | 'used'): void {
    this.refused.set(why, (this.refused.get(why) ?? 0) + 1);
  }

  async #keysFor(owner: SealOwner, { type }: Payload): Promise<readonly OpenedKey[]> {
    const opened: OpenedKey[] = [];
    for (const row of await this.keysOf(owner)) {
      if (row.type !== type) continue;
      try {
        opened.push({ row, privateKey: await openPrivateKey(this.keys, row) });
      } catch (error) {
        // It is told of, and other keys go on.
        if (!(error instanceof SealBroken)) throw error;
      }
    }
    return opened;
  }
}

function openWith({ row, privateKey }: OpenedKey, payload: Payload, nowMs: number): OpenedPayload {
  const { recipient, gatewayMerchant, publicKey, roots } = row;
  if (payload.type === 'apple_pay') {
    const publicKeyHash = createHash('sha256').update(publicKey).digest();
    const key = {
      privateKey,
      publicKeyHash,
      merchantHash: merchantHashOf(recipient),
      roots: readAppleRoots(roots) ?? [],
    };
    return openApplePay(payload.payload, key, nowMs);
  }
  const key = {
    privateKey,
    recipient,
    gatewayMerchant: gatewayMerchant ?? undefined,
    roots: readGoogleRoots(roots) ?? [],
  };
  return openGooglePay(payload.payload, key, nowMs);
}

/** A key that a payload is not for says less about it than the one that it is for. */
const TELLING: readonly WhyRefused[] = ['unusable', 'expired', 'forged', 'foreign'];

function moreTelling(one: PayloadRefused | undefined, other: PayloadRefused): PayloadRefused {
  return one !== undefined && TELLING.indexOf(one.why) <= TELLING.indexOf(other.why) ? one : other;
}

/**
 * Nobody who reads the database finds the payload by it. Only one key opens a payload, and that goes along to other cells: the tag is the
 * same there.
 */
function tagOf({ row, privateKey }: OpenedKey, id: string): Buffer {
  const secret = derOf(privateKey);
  const tag = createHmac('sha256', secret).update(`tollgate/wallet payload/${row.type}/${id}`).digest();
  secret.fill(0);
  return tag;
}
