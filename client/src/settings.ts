// What a client can be told, and what it does unless it is told otherwise.
import type { Begun, Memory } from './memory.js';
import type { Observed } from './observed.js';

export interface TollgateOptions {
  /** For example `https://payments.example/v1`. */
  readonly baseUrl: string;
  readonly username: string;
  readonly password: string;
  /**
   * For a request that creates or changes something: 15,000 ms. It must be longer than the gateway gives the acquirer (10 s, unless
   * its operator has changed it), or answers that are on their way are given up.
   */
  readonly requestTimeoutMs?: number;
  /** For a look-up, a search or a list: 10,000 ms. */
  readonly lookupTimeoutMs?: number;
  /** For everything together, until the outcome is known: 120,000 ms. */
  readonly outcomeTimeoutMs?: number;
  /** Between two tries: 200 ms at first, then twice as long each time, up to 5,000 ms. */
  readonly firstPauseMs?: number;
  readonly longestPauseMs?: number;
  /**
   * For how long after a payment the gateway finds it by its correlation ID, at least: 23 hours. (It says 24, unless its operator has
   * changed it.) What `recover` does not find later than that is not known, and not "not processed".
   */
  readonly searchableMs?: number;
  /** Remembers correlation IDs for a process that is killed. */
  readonly memory?: Memory;
  /** Is waited for before each creating operation sends anything: the place to store the correlation ID with the order. */
  readonly beforeSend?: (begun: Begun) => void | Promise<void>;
  /** Is told of every request, answer and pause, for logs and metrics. What it throws is ignored. */
  readonly observe?: (observed: Observed) => void;
  /** Of the trace that is going on, in W3C's form: the gateway takes part in it. */
  readonly traceparent?: () => string | undefined;
  /** Instead of the runtime's: with a connection pool, a proxy or a client certificate of its own. */
  readonly fetch?: typeof fetch;
  /** Card numbers go over http without TLS only to this machine, unless this says that the network is safe. */
  readonly allowPlainHttp?: boolean;
}

/** Without the credentials: those are the transport's alone. */
export type Settings = Required<
  Omit<
    TollgateOptions,
    'username' | 'password' | 'memory' | 'beforeSend' | 'observe' | 'traceparent' | 'allowPlainHttp'
  >
> &
  Pick<TollgateOptions, 'memory' | 'beforeSend' | 'observe' | 'traceparent'>;

const THIS_MACHINE = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export function settingsOf(options: TollgateOptions): Settings {
  const { baseUrl, username, password, allowPlainHttp = false, ...rest } = options;
  const url = parsed(baseUrl);
  const isPlain = url.protocol === 'http:';
  if (!isPlain && url.protocol !== 'https:') throw new TypeError('baseUrl must begin with https://');
  if (isPlain && !allowPlainHttp && !THIS_MACHINE.test(url.hostname)) {
    throw new TypeError(
      'baseUrl must begin with https://, since card numbers are sent there; allowPlainHttp if that network is safe',
    );
  }
  if (!username || !password) throw new TypeError('username and password are needed');
  const settings: Settings = {
    // Looked up at each call: whoever replaces the global one later means this client too.
    fetch: (input, init) => globalThis.fetch(input, init),
    requestTimeoutMs: 15_000,
    lookupTimeoutMs: 10_000,
    outcomeTimeoutMs: 120_000,
    firstPauseMs: 200,
    longestPauseMs: 5_000,
    searchableMs: 23 * 3_600_000,
    ...withoutUndefined(rest),
    baseUrl: baseUrl.replace(/\/+$/, ''),
  };
  for (const [name, value] of Object.entries(settings)) {
    if (name.endsWith('Ms') && !(typeof value === 'number' && value > 0)) {
      throw new TypeError(`${name} must be a number of milliseconds`);
    }
  }
  return settings;
}

function parsed(baseUrl: string): URL {
  try {
    return new URL(baseUrl);
  } catch {
    // The URL's own error repeats it, and it may hold a secret.
    throw new TypeError('baseUrl is not an address');
  }
}

function withoutUndefined<Values extends object>(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values;
}
