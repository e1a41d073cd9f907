// Signs journal entries. An entry's MAC is made with a key that is not in the database, so write access to the database alone does not
// let anybody forge an entry. The database stores the MAC in the column `mark`.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../postgres/database.js';
import type { JournalEntry } from './entry.js';
import type { SealedState, SealWatch } from './seal-watch.js';

/** The part of an entry that its MAC covers. The merchant follows from the rest; the chain binds time and position. */
export type SignedEntry = Omit<JournalEntry, 'merchantId' | 'action'> & {
  readonly action: string;
} & Partial<EntrySeal>;

/** What an entry says of a row that is sealed; nothing in entries about other things. */
export interface EntrySeal {
  readonly subject: string | null;
  readonly subjectVersion: number | null;
  readonly seal: Buffer | null;
}

const INSTANCE_BYTES = 8;
const COUNT_BYTES = 4;
const NONCE_BYTES = INSTANCE_BYTES + COUNT_BYTES;
const HMAC_BYTES = 16;
const MAC_BYTES = NONCE_BYTES + HMAC_BYTES;
const MAX_COUNT = 2 ** (8 * COUNT_BYTES);

export class EntrySigner {
  /** Instance and count are the nonce. No nonce is used twice, so a copied entry shows up as a repeated MAC. */
  #instance = randomBytes(INSTANCE_BYTES);
  #count = 0;

  constructor(
    private readonly key: Buffer,
    /** The client's address, for entries that name no other. */
    readonly address?: string,
    /** What the process knows of seals, and reports of broken ones. */
    readonly watch?: SealWatch,
  ) {}

  /** The nonce, followed by the HMAC over nonce and entry. */
  macOf(entry: SignedEntry): Buffer {
    const mac = Buffer.allocUnsafe(MAC_BYTES);
    if (this.#count === MAX_COUNT) {
      this.#instance = randomBytes(INSTANCE_BYTES);
      this.#count = 0;
    }
    this.#instance.copy(mac);
    mac.writeUInt32BE(this.#count, INSTANCE_BYTES);
    this.#count += 1;
    this.#hmac(mac.subarray(0, NONCE_BYTES), entry).copy(mac, NONCE_BYTES, 0, HMAC_BYTES);
    return mac;
  }

  isSigned(entry: SignedEntry, mac: Buffer | null): boolean {
    if (mac?.length !== MAC_BYTES) return false;
    const expected = this.#hmac(mac.subarray(0, NONCE_BYTES), entry).subarray(0, HMAC_BYTES);
    return timingSafeEqual(expected, mac.subarray(NONCE_BYTES));
  }

  /**
   * A seal for a version of a row: an HMAC of what the row says, and an HMAC that binds it to subject and version. So the newest genuine
   * seal can be told from forged ones without knowing what the row said.
   */
  sealOf(subject: string, version: number, state: SealedState): Buffer {
    const said = this.#said(subject, state);
    return Buffer.concat([said, this.#bound(subject, version, said)]);
  }

  isSeal(subject: string, version: number, seal: Buffer): boolean {
    if (seal.length !== 2 * HMAC_BYTES) return false;
    const said = seal.subarray(0, HMAC_BYTES);
    // guard(directions: a forged seal is passed over): timingSafeEqual(this.#bound(subject, version, said), seal.subarray(HMAC_BYTES)) ⇒ said.length === HMAC_BYTES
    return timingSafeEqual(this.#bound(subject, version, said), seal.subarray(HMAC_BYTES));
  }

  /** Of a genuine seal. */
  isSealOf(subject: string, state: SealedState, seal: Buffer): boolean {
    return timingSafeEqual(this.#said(subject, state), seal.subarray(0, HMAC_BYTES));
  }

  #said(subject: string, state: SealedState): Buffer {
    return this.#macOf(['tollgate sealed row', subject, state]);
  }

  #bound(subject: string, version: number, said: Buffer): Buffer {
    return this.#macOf(['tollgate seal', subject, version, said.toString('hex')]);
  }

  #macOf(parts: readonly unknown[]): Buffer {
    return createHmac('sha256', this.key).update(JSON.stringify(parts)).digest().subarray(0, HMAC_BYTES);
  }

  #hmac(nonce: Buffer, entry: SignedEntry): Buffer {
    // guard(journal: the mark of an entry is for what it says): , detail, address ⇒
    const { organisationId, actor, action, customerId, tokenId, audit, correlationId, detail, address } =
      entry;
    const { subject, subjectVersion, seal } = entry;
    const says = [organisationId, actor, action, customerId, tokenId, audit, correlationId];
    // guard(journal: the mark of an entry is for what it says): , detail, address ⇒
    const parts: unknown[] = [...says, detail, address];
    if (subject != null) parts.push(subject, subjectVersion ?? undefined, seal?.toString('hex'));
    // JSON writes undefined as null, so an absent field and a NULL from the database give the same MAC.
    return createHmac('sha256', this.key).update(nonce).update(JSON.stringify(parts)).digest();
  }
}

/** A function is called for the first entry: commands that only read never need the key. */
type SignerSource = EntrySigner | (() => Promise<EntrySigner>);

const SIGNERS = new WeakMap<object, SignerSource>();

/** From now on, entries written through this database are signed. */
export function setSigner({ origin }: Queryable, signer: SignerSource): void {
  if (origin !== undefined) SIGNERS.set(origin, signer);
}

/** Undefined if this database has no signer: its entries get no MAC, and `journal verify` reports them. */
export async function signerOf({ origin }: Queryable): Promise<EntrySigner | undefined> {
  const signer = origin && SIGNERS.get(origin);
  if (typeof signer !== 'function') return signer;
  const opened = await signer();
  SIGNERS.set(origin as object, opened);
  return opened;
}

/** The same without waiting, for processes that open the signer when they start. */
export function openSignerOf({ origin }: Queryable): EntrySigner | undefined {
  const signer = origin && SIGNERS.get(origin);
  return typeof signer === 'function' ? undefined : signer;
}
