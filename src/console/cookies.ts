// The cookie of a session: for this host alone, over TLS alone, out of reach of scripts, and sent by nobody else's page.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SessionCookie } from './route.js';

const NAME = '__Host-tollgate';
/** For a browser that takes no such cookie over HTTP, not even from its own machine. */
const PLAIN_NAME = 'tollgate';
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

export function tokenIn({ headers }: IncomingMessage, origin: string): string | undefined {
  const name = nameFor(origin, headers['user-agent']);
  return cookieIn(headers.cookie, name, /^[\w-]{43}$/);
}

/** What a browser keeps of a sign-in: by it, it is known again on the next. */
export function deviceIn({ headers }: IncomingMessage, origin: string): string | undefined {
  return cookieIn(headers.cookie, `${nameFor(origin, headers['user-agent'])}-device`, /^[\w-]{22}$/);
}

/** What it keeps while another page asks who it is. */
export function keptIn({ headers }: IncomingMessage, origin: string): string | undefined {
  return cookieIn(headers.cookie, `${nameFor(origin, headers['user-agent'])}-kept`, /^[\w-]{40,2000}$/);
}

/** The one with this name, if it looks as it should. */
export function cookieIn(header = '', name: string, pattern: RegExp): string | undefined {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    const value = pair.slice(at + 1).trim();
    if (at > 0 && pair.slice(0, at).trim() === name && pattern.test(value)) return value;
  }
  return undefined;
}

export function sessionCookie(
  { headers }: IncomingMessage,
  response: ServerResponse,
  origin: string,
): SessionCookie {
  const name = nameFor(origin, headers['user-agent']);
  const attributes = name === NAME ? `${ATTRIBUTES}; Secure` : ATTRIBUTES;
  const lax = attributes.replace('SameSite=Strict', 'SameSite=Lax');
  return {
    set: (token) => void response.appendHeader('set-cookie', `${name}=${token}; ${attributes}`),
    // Sent along when another site leads here, as the session is not.
    keep: (kept) => void response.appendHeader('set-cookie', `${name}-kept=${kept}; ${lax}; Max-Age=600`),
    clearKept: () => void response.appendHeader('set-cookie', `${name}-kept=; ${lax}; Max-Age=0`),
    setDevice: (device) =>
      void response.appendHeader('set-cookie', `${name}-device=${device}; ${attributes}; Max-Age=15552000`),
    clear: () => void response.appendHeader('set-cookie', `${name}=; ${attributes}; Max-Age=0`),
  };
}

/** Safari keeps no Secure cookie that came over HTTP, where Chromium and Firefox trust their own machine. */
function nameFor(origin: string, agent = ''): string {
  const isSafari = agent.includes('Safari/') && !/Chrom(e|ium)\/|Firefox\//.test(agent);
  return isSafari && origin.startsWith('http:') ? PLAIN_NAME : NAME;
}
