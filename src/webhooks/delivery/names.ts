// The addresses of a name, asked anew for each attempt. Asked is the DNS itself, without the thread pool that files and keys need
// too: a name server that never answers keeps nobody else waiting.
import { Resolver } from 'node:dns/promises';

const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES = 2;
/** More than any honest name has. */
const MOST_ADDRESSES = 32;

export class Names {
  readonly #resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });

  /** `servers` instead of those that the machine is set up with. */
  constructor(servers?: readonly string[]) {
    if (servers !== undefined) this.#resolver.setServers(servers);
  }

  /** Those of IPv4 first. None where there is no such name, or nobody who knows it. */
  async addressesOf(name: string): Promise<string[]> {
    const [four, six] = await Promise.all([
      this.#resolver.resolve4(name).catch(() => []),
      this.#resolver.resolve6(name).catch(() => []),
    ]);
    return [...four, ...six].slice(0, MOST_ADDRESSES);
  }

  close(): void {
    this.#resolver.cancel();
  }
}
