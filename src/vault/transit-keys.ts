// Key-encryption keys in HashiCorp Vault: its Transit engine wraps and unwraps, and the key never leaves it.
import { type KeyProvider, KeyUnavailable, type WrappedKey } from './key-provider.js';

export interface TransitOptions {
  /** For example `https://vault.example:8200`. */
  readonly address: string;
  readonly token: string;
  readonly keyName: string;
  readonly mount: string;
  readonly namespace?: string | undefined;
}

const TIMEOUT_MS = 5_000;

export class TransitKeys implements KeyProvider {
  readonly name = 'vault-transit';

  constructor(private readonly options: TransitOptions) {}

  async wrap(key: Buffer, context: string): Promise<WrappedKey> {
    const { ciphertext } = await this.#call<{ ciphertext?: unknown }>('encrypt', {
      plaintext: key.toString('base64'),
      associated_data: Buffer.from(context).toString('base64'),
    });
    // `vault:v3:…`: the version belongs to the ciphertext, so that Vault's own key rotation needs nothing from here.
    if (typeof ciphertext !== 'string' || !/^vault:v\d+:/.test(ciphertext)) throw this.#unreadable();
    return { keyId: this.#keyId(ciphertext), wrapped: Buffer.from(ciphertext) };
  }

  async unwrap({ wrapped }: WrappedKey, context: string): Promise<Buffer> {
    const { plaintext } = await this.#call<{ plaintext?: unknown }>('decrypt', {
      ciphertext: wrapped.toString(),
      associated_data: Buffer.from(context).toString('base64'),
    });
    if (typeof plaintext !== 'string') throw this.#unreadable();
    return Buffer.from(plaintext, 'base64');
  }

  #keyId(ciphertext: string): string {
    return `${this.options.mount}/${this.options.keyName}/${ciphertext.split(':')[1]}`;
  }

  async #call<Data>(operation: 'encrypt' | 'decrypt', body: object): Promise<Data> {
    const { address, token, mount, keyName, namespace } = this.options;
    const url = `${address.replace(/\/+$/, '')}/v1/${mount}/${operation}/${encodeURIComponent(keyName)}`;
    let response: Response;
    try {
      response = await fetch(url, {
        method: 'POST',
        headers: {
          'x-vault-token': token,
          'x-vault-request': 'true',
          'content-type': 'application/json',
          ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: 'error',
      });
    } catch {
      throw new KeyUnavailable(`HashiCorp Vault at ${address} cannot be reached`);
    }
    if (!response.ok) {
      // Vault's own words are left out: what they repeat is not ours to decide.
      await response.body?.cancel();
      throw new KeyUnavailable(
        `HashiCorp Vault refused to ${operation} with the key ${keyName} (HTTP ${response.status})`,
      );
    }
    const answer = (await response.json().catch(() => undefined)) as { data?: Data } | undefined;
    if (answer?.data === undefined) throw this.#unreadable();
    return answer.data;
  }

  #unreadable(): KeyUnavailable {
    return new KeyUnavailable(
      `HashiCorp Vault at ${this.options.address} gave an answer that cannot be read`,
    );
  }
}
