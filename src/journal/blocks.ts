// Blocks of the journal's chain: the entries of a block, and the hash that binds it to the previous block.
import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

export const TAG_BYTES = 16;

export interface Block {
  readonly number: number;
  readonly madeMs: number;
  /** The first and last ID of each run of entries. */
  readonly spans: readonly number[];
  /** Sixteen bytes for each entry. */
  readonly tags: Buffer;
  /** Entries without a MAC: Tollgate did not write them. */
  readonly foreign: readonly number[];
}

/** The end of the chain at one moment, to be kept elsewhere. */
export interface Checkpoint {
  readonly installation: string;
  readonly number: number;
  readonly hash: string;
  readonly made: string;
}

const NO_HASH = Buffer.alloc(0);
/** The PKCS #8 prefix of an Ed25519 private key of 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

export class ChainKey {
  readonly #signing: KeyObject;

  constructor(private readonly key: Buffer) {
    const seed = createHmac('sha256', key).update('tollgate journal signing key').digest();
    this.#signing = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  }

  hashOf({ number, madeMs, spans, tags, foreign }: Block, before: Buffer = NO_HASH): Buffer {
    const parts = ['tollgate journal block', number, madeMs, spans, [], foreign, before.toString('hex')];
    return createHmac('sha256', this.key).update(JSON.stringify(parts)).update(tags).digest();
  }

  /** In PEM. Anybody can use it to check that a checkpoint is from this installation. */
  get publicKey(): string {
    return createPublicKey(this.#signing).export({ format: 'pem', type: 'spki' }).toString();
  }

  sign(text: string): string {
    return sign(null, Buffer.from(text), this.#signing).toString('base64');
  }

  isSigned(text: string, signature: string): boolean {
    return verify(null, Buffer.from(text), createPublicKey(this.#signing), Buffer.from(signature, 'base64'));
  }
}

/** Runs of consecutive IDs. */
export function spansOf(ids: readonly number[]): number[] {
  const spans: number[] = [];
  for (const id of ids) {
    if (spans.length > 0 && spans.at(-1) === id - 1) spans[spans.length - 1] = id;
    else spans.push(id, id);
  }
  return spans;
}

export function countOf(spans: readonly number[]): number {
  let count = 0;
  for (let at = 0; at < spans.length; at += 2) count += (spans[at + 1] as number) - (spans[at] as number) + 1;
  return count;
}
