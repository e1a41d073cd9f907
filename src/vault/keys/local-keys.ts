// Key-encryption keys that the gateway holds itself, from a file in the data directory or from the environment.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { decrypt, encrypt } from '../../values/aes-gcm.js';
import { exists, writeText } from '../../values/whole-file.js';
import { type KeyProvider, KeyUnavailable, type WrappedKey } from './key-provider.js';

/** Identifies a key without revealing anything about it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('tollgate key id').update(key).digest('hex').slice(0, 16);
}

function parseKeys(text: string, where: string): Buffer[] {
  const keys = text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map((part) => Buffer.from(part, 'base64'));
  if (keys.length === 0 || keys.some((key) => key.length !== 32)) {
    throw new KeyUnavailable(
      `${where} must hold base64 of 32 bytes (several, newest first, while one is being replaced)`,
    );
  }
  return keys;
}

/** The first key wraps; every key unwraps. */
class LocalKeys {
  constructor(
    private readonly keys: readonly Buffer[],
    private readonly where: string,
  ) {}

  wrap(key: Buffer, context: string): WrappedKey {
    const [current] = this.keys as [Buffer, ...Buffer[]];
    // guard(data key: wrapped for one purpose only): context) ⇒ '')
    return { keyId: idOf(current), wrapped: encrypt(current, key, context) };
  }

  has(keyId: string): boolean {
    return this.keys.some((key) => idOf(key) === keyId);
  }

  unwrap({ keyId, wrapped }: WrappedKey, context: string): Buffer {
    const key = this.keys.find((candidate) => idOf(candidate) === keyId);
    if (key === undefined) {
      throw new KeyUnavailable(
        `the key-encryption key in ${this.where} is not the one that this database was sealed under (${keyId}); bring that one back`,
      );
    }
    // guard(data key: wrapped for one purpose only): context) ⇒ '')
    const opened = decrypt(key, wrapped, context);
    if (opened !== undefined) return opened;
    throw new KeyUnavailable(
      'a data key does not open under the key-encryption key: it was changed or moved',
    );
  }
}

/** TOLLGATE_KEY_ENCRYPTION_KEY: base64 of 32 bytes; during a replacement, the new key, a comma, and the old key. */
export class EnvironmentKeys implements KeyProvider {
  readonly name = 'environment';
  readonly #keys: LocalKeys;

  constructor(text: string) {
    this.#keys = new LocalKeys(parseKeys(text, 'TOLLGATE_KEY_ENCRYPTION_KEY'), 'TOLLGATE_KEY_ENCRYPTION_KEY');
  }

  async wrap(key: Buffer, context: string): Promise<WrappedKey> {
    return this.#keys.wrap(key, context);
  }

  async unwrap(wrapped: WrappedKey, context: string): Promise<Buffer> {
    return this.#keys.unwrap(wrapped, context);
  }

  async knows(keyId: string): Promise<boolean> {
    return this.#keys.has(keyId);
  }
}

/** A file that only its owner can read. Fine for a start, but a thief of the disk has the key as well. */
export class FileKeys implements KeyProvider {
  readonly name = 'file';

  constructor(private readonly path: string) {}

  async wrap(key: Buffer, context: string): Promise<WrappedKey> {
    return (await this.#read()).wrap(key, context);
  }

  async unwrap(wrapped: WrappedKey, context: string): Promise<Buffer> {
    return (await this.#read()).unwrap(wrapped, context);
  }

  async knows(keyId: string): Promise<boolean> {
    return (await this.#read()).has(keyId);
  }

  /**
   * Creates the file if there is none. Called only if nothing has been sealed yet. An existing file is never replaced: another
   * process may just have created it, or it belongs to another database.
   */
  async prepare(): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    // If somebody else put the file there, the folder may not be writable.
    if (await exists(this.path)) return;
    // If another process has created one meanwhile, that one counts.
    await this.#write('keep', [randomBytes(32)]);
  }

  async renew(): Promise<void> {
    await this.#write('replace', [randomBytes(32), ...(await this.#keys())]);
  }

  async forgetOthers(): Promise<void> {
    await this.#write('replace', (await this.#keys()).slice(0, 1));
  }

  async #read(): Promise<LocalKeys> {
    return new LocalKeys(await this.#keys(), this.path);
  }

  async #keys(): Promise<Buffer[]> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new KeyUnavailable(
        `the key-encryption key ${this.path} cannot be read (${error.code}); bring it back from a backup`,
      );
    });
    return parseKeys(text, this.path);
  }

  /** Whole and on disk before it is used: losing this file means losing every card. */
  async #write(existing: 'keep' | 'replace', keys: readonly Buffer[]): Promise<void> {
    await writeText(this.path, existing, `${keys.map((key) => key.toString('base64')).join('\n')}\n`);
  }
}
