// A file of cards, or what a pipe brings: opened if it is encrypted, refused where cards would lie on a disk in clear.
import { createHash } from 'node:crypto';
import { fstatSync } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Refusal, refuse } from '../../values/refusal.js';
import { unreadable } from '../../values/whole-file.js';

export interface CardFile {
  /** In clear. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** How much of the file was read, and how much there is; a pipe does not tell. */
  readonly readBytes: () => number;
  readonly totalBytes: number | undefined;
  /** Of the file as it is, once it was read to its end. */
  readonly digest: () => string;
  readonly close: () => void;
}

export interface CardFileWish {
  /** `-` is standard input. */
  readonly path: string;
  /** The file with the secret key; `-` is standard input. */
  readonly identity?: string | undefined;
  /** For test merchants, whose cards are nobody's. */
  readonly mayBeClear: boolean;
}

const STDIN = '-';
const HEAD_BYTES = 64;
/** An armoured message, or a packet in binary: its first bit is set, which no text of ours begins with. */
const isPgp = (head: Buffer) =>
  head.toString('latin1').startsWith('-----BEGIN PGP') || (head.length > 0 && (head[0] as number) > 0xbf);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export async function openCardFile(wish: CardFileWish): Promise<CardFile> {
  const { path } = wish;
  const [source, totalBytes] = path === STDIN ? [process.stdin, undefined] : await fileOf(path);
  const hash = createHash('sha256');
  let readBytes = 0;
  const counted = (async function* () {
    for await (const piece of source as AsyncIterable<Buffer>) {
      hash.update(piece);
      readBytes += piece.length;
      yield piece;
    }
  })();
  const close = () => void source.destroy();
  try {
    const [head, raw] = await headOf(counted);
    const bytes = await inClear(wish, head, raw);
    return { bytes, readBytes: () => readBytes, totalBytes, digest: () => hash.digest('hex'), close };
  } catch (error) {
    close();
    throw error;
  }
}

async function inClear(
  { path, identity, mayBeClear }: CardFileWish,
  head: Buffer,
  raw: AsyncIterable<Uint8Array>,
): Promise<AsyncIterable<Uint8Array>> {
  const { decrypted, identitiesOf, isAge } = await import('./age.js');
  if (isAge(head)) {
    if (identity === undefined) refuse('identity_missing', { path });
    const opened = identitiesOf(await identityIn(identity));
    if (opened === undefined) refuse('identity_unreadable', { path: identity });
    const clear = await decrypted(raw, opened).catch(() => refuse('identity_of_another', { path }));
    return whole(clear, path);
  }
  if (isPgp(head) && !head.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
    refuse('card_file_is_pgp', { path });
  // guard(import: no file of cards in clear): !mayBeClear ⇒ mayBeClear && path === STDIN
  if (isOnDisk(path) && !mayBeClear) refuse('card_file_in_clear', { path });
  return raw;
}

/** A pipe is none, wherever it comes from; a file that standard input is taken from is one. */
function isOnDisk(path: string): boolean {
  // guard(import: no file of cards in clear as standard input): isFile ⇒ isDirectory
  return path !== STDIN || fstatSync(process.stdin.fd).isFile();
}

async function fileOf(path: string): Promise<[Readable, number | undefined]> {
  const about = await stat(path).catch(unreadable(path));
  const handle = await open(path, 'r').catch(unreadable(path));
  return [handle.createReadStream({ highWaterMark: 1 << 18 }), about.isFile() ? about.size : undefined];
}

async function identityIn(path: string): Promise<string> {
  if (path !== STDIN) return readFile(path, 'utf8').catch(unreadable(path));
  let text = '';
  for await (const piece of process.stdin) text += String(piece);
  return text;
}

/** The first bytes, and everything with them. */
async function headOf(bytes: AsyncGenerator<Uint8Array>): Promise<[Buffer, AsyncGenerator<Uint8Array>]> {
  let head = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const { done, value } = await bytes.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  return [
    head,
    (async function* () {
      if (head.length > 0) yield head;
      yield* bytes;
    })(),
  ];
}

/** What age has authenticated; it notices the end of a file that is cut short. */
async function* whole(clear: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* clear;
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal('card_file_broken', { path });
  }
}
