// A client that reaches a gateway through a meddling proxy, whose next actions a test sets one by one.
import { onTestFinished } from 'vitest';
import { type Observed, Tollgate, type TollgateOptions } from '../client/src/index.js';
import type { TestGateway } from './gateway.js';
import { type Fate, MeddlingProxy, PASS, type ProxiedRequest } from './meddling-proxy.js';

export interface MeddledClient {
  readonly client: Tollgate;
  readonly proxy: MeddlingProxy;
  /** What the proxy does with requests that create or change something; the rest pass. */
  readonly fates: Fate[];
  /** The same for look-ups and searches. */
  readonly fatesOfLookups: Fate[];
  /** Everything that came to the proxy: `POST /transactions/purchase`. */
  readonly requests: string[];
  readonly observed: Observed[];
  /** Another client at the same proxy, as another process would have it. */
  another(options?: Partial<TollgateOptions>): Tollgate;
}

/** What must succeed has seconds; what is to be given up is given up after this long. */
export const REQUEST_TIMEOUT_MS = 1_500;

/** Ends with the test. */
export async function meddledClient(
  gateway: Pick<TestGateway, 'baseUrl' | 'owner'>,
  options: Partial<TollgateOptions> = {},
): Promise<MeddledClient> {
  const fates: Fate[] = [];
  const fatesOfLookups: Fate[] = [];
  const requests: string[] = [];
  const observed: Observed[] = [];
  const fateOf = ({ method, path }: ProxiedRequest) => {
    requests.push(`${method} ${path.split('?')[0]}`);
    return (method === 'GET' ? fatesOfLookups : fates).shift() ?? PASS;
  };
  const proxy = await MeddlingProxy.open({ gateway: () => gateway.baseUrl, fateOf });
  onTestFinished(() => proxy.close());
  const another = (further: Partial<TollgateOptions> = {}) =>
    new Tollgate({
      baseUrl: proxy.baseUrl,
      ...gateway.owner,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      outcomeTimeoutMs: 60_000,
      firstPauseMs: 20,
      longestPauseMs: 200,
      observe: (each) => observed.push(each),
      ...options,
      ...further,
    });
  return { client: another(), proxy, fates, fatesOfLookups, requests, observed, another };
}
