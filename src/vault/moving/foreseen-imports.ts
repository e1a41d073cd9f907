// What an import would come to, without writing anything: beside what is here already, each line is held against those before it.
import { createHash } from 'node:crypto';
import type { CustomerId } from '../../values/ids.js';
import type { SealOwner } from '../keys/sealed-rows.js';
import type { FormerToken, ImportEnding, VaultImports } from './imports.js';
import { recognitionOf } from './recognition.js';

/** Of a line of which an earlier one would have made the token, there is no token to name. */
export type ForeseenEnding =
  | ImportEnding
  | { readonly kind: ImportEnding['kind']; readonly tokenId?: undefined };

/** The card itself: whose it is stands beside it. */
const NOBODY = 0 as CustomerId;
/** Of an ID that was given to a token which another ID had brought: it is not known by the card. */
const ANY_CARD = '*';

export class ForeseenImports {
  readonly #seen = new Digests();

  constructor(
    private readonly imports: VaultImports,
    private readonly recognitionKey: Buffer,
    private readonly owner: SealOwner,
  ) {}

  /** One batch after the other, as they would be added. */
  async endings(tokens: readonly FormerToken[]): Promise<Map<string, ForeseenEnding>> {
    const endings: Map<string, ForeseenEnding> = await this.imports.known(tokens);
    for (const token of tokens) {
      const earlier = endings.has(token.formerId) ? undefined : this.#earlier(token);
      if (earlier !== undefined) endings.set(token.formerId, earlier);
    }
    const fresh = tokens.filter(({ formerId }) => !endings.has(formerId));
    const duplicates = await this.imports.duplicates(fresh);
    for (const token of fresh) {
      const duplicate = duplicates.get(token.formerId);
      if (duplicate !== undefined) this.#remember(token.formerId, ANY_CARD);
      endings.set(token.formerId, duplicate ?? { kind: this.#first(token) });
    }
    for (const { alsoFormerIds } of fresh)
      for (const further of alsoFormerIds) this.#remember(further, ANY_CARD);
    return endings;
  }

  /** Where an earlier line has brought the ID. */
  #earlier({ formerId, account }: FormerToken): ForeseenEnding | undefined {
    if (!this.#seen.has('id', formerId)) return undefined;
    const cards = [this.#card(account), ANY_CARD];
    return { kind: cards.some((card) => this.#seen.has('id', formerId, card)) ? 'already there' : 'taken' };
  }

  #first({ formerId, reference, account }: FormerToken): 'imported' | 'duplicate' {
    const card = this.#card(account);
    const isNew = this.#seen.add('card', reference, card);
    this.#remember(formerId, isNew ? card : ANY_CARD);
    return isNew ? 'imported' : 'duplicate';
  }

  #remember(formerId: string, card: string): void {
    if (this.#seen.add('id', formerId)) this.#seen.add('id', formerId, card);
  }

  #card(account: FormerToken['account']): string {
    return recognitionOf(this.recognitionKey, this.owner, NOBODY, account).toString('base64');
  }
}

/** A set of which eight bytes of each member's digest are kept, and nothing else: a file may have millions of lines. */
class Digests {
  #slots = new BigUint64Array(4_096);
  #size = 0;

  has(...member: readonly string[]): boolean {
    return this.#slots[this.#place(digestOf(member))] !== EMPTY;
  }

  /** False where it was there. */
  add(...member: readonly string[]): boolean {
    const digest = digestOf(member);
    const place = this.#place(digest);
    if (this.#slots[place] !== EMPTY) return false;
    this.#slots[place] = digest;
    this.#size += 1;
    if (this.#size > this.#slots.length * FULLEST) this.#grow();
    return true;
  }

  /** Where it is, or would be. */
  #place(digest: bigint): number {
    const { length } = this.#slots;
    let place = Number(digest % BigInt(length));
    while (this.#slots[place] !== EMPTY && this.#slots[place] !== digest) place = (place + 1) % length;
    return place;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new BigUint64Array(before.length * 2);
    for (const digest of before) if (digest !== EMPTY) this.#slots[this.#place(digest)] = digest;
  }
}

const EMPTY = 0n;
const FULLEST = 0.7;

function digestOf(member: readonly string[]): bigint {
  return createHash('sha256').update(JSON.stringify(member)).digest().readBigUInt64LE() || 1n;
}
