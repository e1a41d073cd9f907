// What operators trust: certificates in Apple's place at the top of a chain, or the root keys that Google publishes. Stored as they were given.
import { X509Certificate } from 'node:crypto';
import { parseJson } from '../values/json.js';
import { type GooglePayRoot, millisecondsOf } from './google-pay.js';
import { bytesOf, p256Of } from './opened.js';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
const MOST_ROOTS = 8;

/** Undefined unless the text is one certificate of an authority or more. */
export function readAppleRoots(pem: string): readonly X509Certificate[] | undefined {
  const written = pem.match(CERTIFICATE) ?? [];
  if (written.length === 0 || written.length > MOST_ROOTS) return undefined;
  try {
    const roots = written.map((one) => new X509Certificate(one));
    return roots.every(({ ca }) => ca) ? roots : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined unless it is JSON as Google publishes it. Keys for other versions of the protocol are left out. */
export function readGoogleRoots(json: string): readonly GooglePayRoot[] | undefined {
  const keys = (parsed(json) as { readonly keys?: unknown } | undefined)?.keys;
  if (!Array.isArray(keys)) return undefined;
  const roots = keys
    .filter((key: { readonly protocolVersion?: unknown } | null) => key?.protocolVersion === 'ECv2')
    .map(({ keyValue, keyExpiration }: { readonly keyValue?: unknown; readonly keyExpiration?: unknown }) => {
      const bytes = typeof keyValue === 'string' ? bytesOf(keyValue) : undefined;
      return { publicKey: bytes && p256Of(bytes), expiresMs: millisecondsOf(keyExpiration) };
    });
  return roots.length > 0 && roots.length <= MOST_ROOTS && roots.every(isWhole) ? roots : undefined;
}

function isWhole(
  root: { readonly [Name in keyof GooglePayRoot]: GooglePayRoot[Name] | undefined },
): root is GooglePayRoot {
  return root.publicKey !== undefined && root.expiresMs !== undefined;
}

function parsed(json: string): unknown {
  try {
    return parseJson(json) ?? undefined;
  } catch {
    return undefined;
  }
}
