// The cookies of the console: for this host alone, over TLS alone, hidden from scripts, and not sent with requests of other sites.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenCall } from './route.js';

const NAME = '__Host-tollgate';
/** For a browser that refuses such a cookie over HTTP even on its own machine. */
const PLAIN_NAME = 'tollgate';
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

interface Cookies extends Pick<OpenCall, 'cookie' | 'device' | 'kept'> {
  /** Of the session. */
  readonly token: string | undefined;
}

export function cookiesOf(
  { headers, cookies }: FastifyRequest,
  { raw: response }: FastifyReply,
  origin: string,
): Cookies {
  const name = nameFor(origin, headers['user-agent']);
  const attributes = name === NAME ? `${ATTRIBUTES}; Secure` : ATTRIBUTES;
  const lax = attributes.replace('SameSite=Strict', 'SameSite=Lax');
  const sent = (cookie: string, pattern: RegExp) => {
    const value = cookies[cookie] ?? '';
    return pattern.test(value) ? value : undefined;
  };
  const set = (cookie: string) => void response.appendHeader('set-cookie', cookie);
  return {
    token: sent(name, /^[\w-]{43}$/),
    device: sent(`${name}-device`, /^[\w-]{22}$/),
    kept: sent(`${name}-kept`, /^[\w-]{40,2000}$/),
    cookie: {
      set: (token) => set(`${name}=${token}; ${attributes}`),
      setDevice: (device) => set(`${name}-device=${device}; ${attributes}; Max-Age=15552000`),
      // Unlike the session, it is sent when another site links here.
      keep: (kept) => set(`${name}-kept=${kept}; ${lax}; Max-Age=600`),
      clearKept: () => set(`${name}-kept=; ${lax}; Max-Age=0`),
      clear: () => set(`${name}=; ${attributes}; Max-Age=0`),
    },
  };
}

/** Safari keeps no Secure cookie that came over HTTP, where Chromium and Firefox trust their own machine. */
function nameFor(origin: string, agent = ''): string {
  const isSafari = agent.includes('Safari/') && !/Chrom(e|ium)\/|Firefox\//.test(agent);
  return isSafari && origin.startsWith('http:') ? PLAIN_NAME : NAME;
}
