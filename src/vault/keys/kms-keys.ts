// Key-encryption keys in AWS KMS: Encrypt and Decrypt with an encryption context; the key never leaves KMS. Loaded only on use,
// since Amazon's library is large.
import { DecryptCommand, EncryptCommand, KMSClient, KMSServiceException } from '@aws-sdk/client-kms';
import { USER_AGENT } from '../../values/program.js';
import { type KeyProvider, KeyUnavailable, type WrappedKey } from './key-provider.js';

export interface KmsOptions {
  readonly region: string;
  /** The key's ID, ARN or alias (`alias/tollgate`). */
  readonly keyName: string;
  /** For example `https://kms.ap-southeast-2.amazonaws.com`. */
  readonly endpoint: string;
  /** If absent, Amazon's library finds and renews them, for example from the instance's role. */
  readonly credentials?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    /** With temporary credentials. */
    readonly sessionToken?: string;
  };
}

const TIMEOUT_MS = 5_000;
const PREFIX = 'aws-kms/';

export class KmsKeys implements KeyProvider {
  readonly name = 'aws-kms';
  readonly #client: KMSClient;

  constructor(private readonly options: KmsOptions) {
    const { region, endpoint, credentials } = options;
    this.#client = new KMSClient({
      region,
      endpoint,
      customUserAgent: USER_AGENT,
      ...(credentials && { credentials }),
    });
  }

  async knows(keyId: string): Promise<boolean> {
    return keyId.startsWith(PREFIX);
  }

  async wrap(key: Buffer, context: string): Promise<WrappedKey> {
    const command = new EncryptCommand({
      KeyId: this.options.keyName,
      // guard(AWS KMS: a key is wrapped for one purpose only): EncryptionContext: { purpose: context }, ⇒
      Plaintext: key,
      EncryptionContext: { purpose: context },
    });
    const { CiphertextBlob, KeyId } = await this.#client
      .send(command, inTime())
      .catch(this.#failed('encrypt'));
    if (CiphertextBlob === undefined || KeyId === undefined) throw this.#unreadable();
    return { keyId: PREFIX + KeyId, wrapped: Buffer.from(CiphertextBlob) };
  }

  /** Names the key that wrapped it: KMS would otherwise open it under any of its keys. */
  async unwrap({ keyId, wrapped }: WrappedKey, context: string): Promise<Buffer> {
    const command = new DecryptCommand({
      KeyId: keyId.slice(PREFIX.length),
      // guard(AWS KMS: a key is wrapped for one purpose only): EncryptionContext: { purpose: context }, ⇒
      CiphertextBlob: wrapped,
      EncryptionContext: { purpose: context },
    });
    const { Plaintext } = await this.#client.send(command, inTime()).catch(this.#failed('decrypt'));
    if (Plaintext === undefined) throw this.#unreadable();
    return Buffer.from(Plaintext);
  }

  #failed(operation: string): (error: Error & { readonly $metadata?: { httpStatusCode?: number } }) => never {
    const { keyName, endpoint } = this.options;
    return (error) => {
      const httpStatus = error.$metadata?.httpStatusCode;
      if (error.name === 'CredentialsProviderError')
        throw new KeyUnavailable(
          'there are no credentials for AWS KMS: set TOLLGATE_AWS_ACCESS_KEY_ID and TOLLGATE_AWS_SECRET_ACCESS_KEY, or give this machine a role',
        );
      if (httpStatus === undefined) throw new KeyUnavailable(`AWS KMS at ${endpoint} cannot be reached`);
      if (httpStatus === 200) throw this.#unreadable();
      // Only the kind of error is kept: the message may repeat secrets.
      const kind = error instanceof KMSServiceException ? error.name : 'no reason given';
      throw new KeyUnavailable(
        `AWS KMS refused to ${operation} with the key ${keyName} (HTTP ${httpStatus}, ${kind})`,
      );
    };
  }

  #unreadable(): KeyUnavailable {
    return new KeyUnavailable(`AWS KMS at ${this.options.endpoint} gave an answer that cannot be read`);
  }
}

/** Including retries. */
function inTime(): { readonly abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(TIMEOUT_MS) };
}
