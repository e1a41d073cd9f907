// Key-encryption keys in HashiCorp Vault: its Transit engine wraps and unwraps, and the key never leaves it.
import { readFile } from 'node:fs/promises';
import { USER_AGENT } from '../../values/program.js';
import { type KeyProvider, KeyUnavailable, type WrappedKey } from './key-provider.js';

export interface TransitOptions {
  /** For example `https://vault.example:8200`. */
  readonly address: string;
  readonly token: string;
  /** The file that the token was read from, if any: it is read again when the token is refused. */
  readonly tokenFile?: string | undefined;
  readonly keyName: string;
  readonly mount: string;
  readonly namespace?: string | undefined;
}

const TIMEOUT_MS = 5_000;
const FORBIDDEN = 403;
/** How often a token that cannot be renewed is checked; a renewed one is checked at half of its lifetime. */
const LOOK_EVERY_MS = 3_600_000;
const AFTER_FAILURE_MS = 300_000;

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
  /** For error messages. */
  readonly what: string;
}

export class TransitKeys implements KeyProvider {
  readonly name = 'vault-transit';
  #token: string;
  #renewAtMs = 0;

  constructor(private readonly options: TransitOptions) {
    this.#token = options.token;
  }

  async knows(keyId: string): Promise<boolean> {
    return keyId.startsWith(`${this.options.mount}/${this.options.keyName}/v`);
  }

  /** Renews an expiring token at half of its lifetime; its file may hold another by then. */
  async renewToken(): Promise<void> {
    await this.#readTokenAgain();
    if (performance.now() < this.#renewAtMs) return;
    // After a failure, it is not retried at once.
    this.#renewAtMs = performance.now() + AFTER_FAILURE_MS;
    const own = { path: 'auth/token/lookup-self', what: 'tell about its token', method: 'GET' } as const;
    const { data } = await this.#ask<{ data?: { ttl?: unknown; renewable?: unknown } }>(own);
    let seconds = Number(data?.ttl ?? 0);
    if (seconds > 0 && data?.renewable === true) {
      const renewing = { path: 'auth/token/renew-self', what: 'renew its token', method: 'POST' } as const;
      const { auth } = await this.#ask<{ auth?: { lease_duration?: unknown } }>({ ...renewing, body: {} });
      seconds = Number(auth?.lease_duration ?? seconds);
    }
    // A token that never expires has the lifetime 0.
    this.#renewAtMs =
      performance.now() + (seconds > 0 ? Math.min((seconds / 2) * 1_000, LOOK_EVERY_MS) : LOOK_EVERY_MS);
  }

  /** Whether the token has changed. */
  async #readTokenAgain(): Promise<boolean> {
    const { tokenFile } = this.options;
    if (tokenFile === undefined) return false;
    const token = (await readFile(tokenFile, 'utf8').catch(() => '')).trim();
    if (token === '' || token === this.#token) return false;
    this.#token = token;
    this.#renewAtMs = 0;
    return true;
  }

  async wrap(key: Buffer, context: string): Promise<WrappedKey> {
    const { ciphertext } = await this.#call<{ ciphertext?: unknown }>('encrypt', {
      plaintext: key.toString('base64'),
      associated_data: Buffer.from(context).toString('base64'),
    });
    // `vault:v3:…`: the ciphertext carries its version, so Vault's own key rotation needs nothing from here.
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
    const { mount, keyName } = this.options;
    const path = `${mount}/${operation}/${encodeURIComponent(keyName)}`;
    const what = `${operation} with the key ${keyName}`;
    const { data } = await this.#ask<{ data?: Data }>({ method: 'POST', path, body, what });
    if (data === undefined) throw this.#unreadable();
    return data;
  }

  async #ask<Answer>(asked: Asked): Promise<Answer> {
    let response = await this.#send(asked);
    // The token may have expired, and its file hold another.
    if (response.status === FORBIDDEN && (await this.#readTokenAgain())) {
      await response.body?.cancel();
      response = await this.#send(asked);
    }
    if (!response.ok) {
      // Vault's message is left out: it may repeat secrets.
      await response.body?.cancel();
      throw new KeyUnavailable(`HashiCorp Vault refused to ${asked.what} (HTTP ${response.status})`);
    }
    const answer = (await response.json().catch(() => undefined)) as Answer | undefined;
    if (answer === undefined || answer === null) throw this.#unreadable();
    return answer;
  }

  async #send({ method, path, body }: Asked): Promise<Response> {
    const { address, namespace } = this.options;
    try {
      return await fetch(`${address.replace(/\/+$/, '')}/v1/${path}`, {
        method,
        headers: {
          'x-vault-token': this.#token,
          'x-vault-request': 'true',
          'content-type': 'application/json',
          'user-agent': USER_AGENT,
          ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: 'error',
      });
    } catch {
      throw new KeyUnavailable(`HashiCorp Vault at ${address} cannot be reached`);
    }
  }

  #unreadable(): KeyUnavailable {
    return new KeyUnavailable(
      `HashiCorp Vault at ${this.options.address} gave an answer that cannot be read`,
    );
  }
}
