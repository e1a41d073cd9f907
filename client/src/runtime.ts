// What is taken from the runtime, and how: Node 18 has the web's cryptography, but not under its global name.

/** As this runtime calls it. */
type WebCrypto = typeof globalThis.crypto;

export async function webCrypto(): Promise<WebCrypto> {
  if (globalThis.crypto !== undefined) return globalThis.crypto;
  // Not written out, so that no tool for browsers and workers looks for it. One that folds constants would put a name together again.
  const name = ['node', 'crypto'].join(':');
  return ((await import(name)) as { webcrypto: WebCrypto }).webcrypto;
}

export async function newCorrelationId(): Promise<string> {
  return (await webCrypto()).randomUUID();
}

/** As the gateway reads a user name and a secret. */
export function basicCredentials(username: string, password: string): string {
  const bytes = new TextEncoder().encode(`${username}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** Ends early, and without complaint, when the signal says so. */
export function pause(ms: number, signal?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.max(ms, 0));
    signal?.addEventListener('abort', end);
  });
}
