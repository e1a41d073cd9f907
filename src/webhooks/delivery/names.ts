// Resolves a name for each attempt. It asks the DNS directly, without the thread pool that files and keys need: a silent name
// server delays nobody else.
import { Resolver } from 'node:dns/promises';

const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES = 2;
/** More than any honest name has. */
const MOST_ADDRESSES = 32;

export class Names {
  readonly #resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });

  /** `servers` replace the machine's own. */
  constructor(servers?: readonly string[]) {
    if (servers !== undefined) this.#resolver.setServers(servers);
  }

  /** IPv4 addresses first. None if the name is unknown or no server answers. */
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
