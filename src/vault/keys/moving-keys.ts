// Two key providers while one replaces the other: the new one wraps, and each unwraps what it wrapped.
import type { KeyProvider, WrappedKey } from './key-provider.js';

export class MovingKeys implements KeyProvider {
  readonly name: string;

  constructor(
    private readonly current: KeyProvider,
    private readonly previous: KeyProvider,
  ) {
    this.name = current.name;
  }

  wrap(key: Buffer, context: string): Promise<WrappedKey> {
    return this.current.wrap(key, context);
  }

  async unwrap(wrapped: WrappedKey, context: string): Promise<Buffer> {
    const provider = (await this.current.knows?.(wrapped.keyId)) ? this.current : this.previous;
    return provider.unwrap(wrapped, context);
  }

  /** Only the new provider's: the other has its key. */
  async prepare(): Promise<void> {
    await this.current.prepare?.();
  }

  async renewToken(): Promise<void> {
    await Promise.all([this.current.renewToken?.(), this.previous.renewToken?.()]);
  }
}
