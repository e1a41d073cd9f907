// Encryption to a key, as age does it (age-encryption.org): files of cards are never written in another way. Loaded only by the commands
// that move vaults.
import { Decrypter, Encrypter } from 'age-encryption';

type Bytes = AsyncIterable<Uint8Array>;

const INTRODUCTION = 'age-encryption.org/v1';
const ARMOUR = '-----BEGIN AGE ENCRYPTED FILE-----';

/** By its first bytes: in binary, or as text. */
export function isAge(head: Buffer): boolean {
  return [INTRODUCTION, ARMOUR].some((beginning) => head.toString('latin1').startsWith(beginning));
}

/** Undefined where one of them is no recipient that age knows. */
export function recipientsOf(recipients: readonly string[]): Encrypter | undefined {
  const encrypter = new Encrypter();
  try {
    for (const recipient of recipients) encrypter.addRecipient(recipient);
    return encrypter;
  } catch {
    return undefined;
  }
}

/** The keys of an identity file; undefined where there is none in it, or one that age does not know. */
export function identitiesOf(file: string): Decrypter | undefined {
  const lines = file.split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) return undefined;
  const decrypter = new Decrypter();
  try {
    for (const key of keys) decrypter.addIdentity(key);
    return decrypter;
  } catch {
    return undefined;
  }
}

export async function encrypted(clear: Bytes, recipients: Encrypter): Promise<Bytes> {
  return recipients.encrypt(streamOf(clear)) as unknown as Promise<Bytes>;
}

/** The header is read before this returns; what comes of it fails where the file was changed, or is cut short. */
export async function decrypted(file: Bytes, identities: Decrypter): Promise<Bytes> {
  return identities.decrypt(streamOf(withoutArmour(file))) as unknown as Promise<Bytes>;
}

/** Bytes of a file that may be written as text: lines of base64 between two others. What is wrong in them age notices. */
async function* withoutArmour(file: Bytes): AsyncGenerator<Uint8Array> {
  let armoured: boolean | undefined;
  let rest = '';
  for await (const piece of file) {
    armoured ??= Buffer.from(piece).toString('latin1').startsWith(ARMOUR);
    if (!armoured) {
      yield piece;
      continue;
    }
    const lines = (rest + Buffer.from(piece).toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    yield Buffer.from(lines.filter((line) => !line.startsWith('-----')).join(''), 'base64');
  }
  if (armoured && !rest.startsWith('-----')) yield Buffer.from(rest, 'base64');
}

/** Pulled, so that no more than a piece is in memory. */
function streamOf(bytes: Bytes): ReadableStream<Uint8Array> {
  const pieces = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return?.();
    },
  });
}
