// Key-encryption keys in AWS KMS: Encrypt and Decrypt with an encryption context, and the key never leaves it.
import { USER_AGENT } from '../../values/program.js';
import { type AwsCredentials, signed } from './aws-signature.js';
import { type KeyProvider, KeyUnavailable, type WrappedKey } from './key-provider.js';

export interface KmsOptions extends AwsCredentials {
  readonly region: string;
  /** The key's ID, its ARN or an alias of it (`alias/tollgate`). */
  readonly keyName: string;
  /** For example `https://kms.ap-southeast-2.amazonaws.com`. */
  readonly endpoint: string;
}

const TIMEOUT_MS = 5_000;
const PREFIX = 'aws-kms/';

export class KmsKeys implements KeyProvider {
  readonly name = 'aws-kms';

  constructor(private readonly options: KmsOptions) {}

  async knows(keyId: string): Promise<boolean> {
    return keyId.startsWith(PREFIX);
  }

  async wrap(key: Buffer, context: string): Promise<WrappedKey> {
    const { CiphertextBlob, KeyId } = await this.#call('Encrypt', {
      KeyId: this.options.keyName,
      // guard(AWS KMS: a key is wrapped for one purpose only): EncryptionContext: { purpose: context }, ⇒
      Plaintext: key.toString('base64'),
      EncryptionContext: { purpose: context },
    });
    if (typeof CiphertextBlob !== 'string' || typeof KeyId !== 'string') throw this.#unreadable();
    return { keyId: PREFIX + KeyId, wrapped: Buffer.from(CiphertextBlob, 'base64') };
  }

  /** Under the very key that wrapped it: KMS would open it under any that it has. */
  async unwrap({ keyId, wrapped }: WrappedKey, context: string): Promise<Buffer> {
    const { Plaintext } = await this.#call('Decrypt', {
      KeyId: keyId.slice(PREFIX.length),
      // guard(AWS KMS: a key is wrapped for one purpose only): EncryptionContext: { purpose: context }, ⇒
      CiphertextBlob: wrapped.toString('base64'),
      EncryptionContext: { purpose: context },
    });
    if (typeof Plaintext !== 'string') throw this.#unreadable();
    return Buffer.from(Plaintext, 'base64');
  }

  async #call(operation: 'Encrypt' | 'Decrypt', content: object): Promise<Record<string, unknown>> {
    const { endpoint, region } = this.options;
    const request = signed({
      url: new URL(endpoint),
      service: 'kms',
      region,
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${operation}` },
      body: JSON.stringify(content),
      credentials: this.options,
      at: new Date(),
    });
    let response: Response;
    try {
      response = await fetch(endpoint, {
        ...request,
        headers: { ...request.headers, 'user-agent': USER_AGENT },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: 'error',
      });
    } catch {
      throw new KeyUnavailable(`AWS KMS at ${endpoint} cannot be reached`);
    }
    const answer = (await response.json().catch(() => undefined)) as Record<string, unknown> | undefined;
    if (!response.ok) {
      // Its own words are left out, but for the kind of error: what they repeat is not ours to decide.
      const [kind] = /[A-Za-z]+$/.exec(String(answer?.__type ?? '')) ?? ['no reason given'];
      throw new KeyUnavailable(
        `AWS KMS refused to ${operation.toLowerCase()} with the key ${this.options.keyName} (HTTP ${response.status}, ${kind})`,
      );
    }
    if (answer === undefined) throw this.#unreadable();
    return answer;
  }

  #unreadable(): KeyUnavailable {
    return new KeyUnavailable(`AWS KMS at ${this.options.endpoint} gave an answer that cannot be read`);
  }
}
