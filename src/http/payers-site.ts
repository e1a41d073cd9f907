// What the payers' listener answers: the page of each checkout, a payer's attempt, how it stands, and the files of the page.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { appleSession } from '../checkout/apple-session.js';
import type { Asset, PayersAssets } from '../checkout/assets.js';
import { isCheckoutId } from '../checkout/checkout.js';
import type { KnownCheckout } from '../checkout/checkouts.js';
import { coloursAddress, coloursAt } from '../checkout/page/colours.js';
import { type Posted, readForm } from '../checkout/page/form.js';
import {
  type Ending,
  endPage,
  formPage,
  type Look,
  type Notice,
  processingPage,
  type Shown,
  withCheckout,
} from '../checkout/page/page.js';
import { quotesFor } from '../checkout/page/quotes.js';
import { ENGLISH } from '../checkout/page/texts.js';
import { appleIdentityIn, browserConnects, type Offer, offersFor } from '../checkout/page/wallets.js';
import type { Payers } from '../checkout/payers.js';
import type { Clock } from '../clock/clock.js';
import { type Brand, brandOf, logoOf } from '../organisations/brand.js';
import { callerFor, type Merchant, permittedMerchant } from '../organisations/users/callers.js';
import { declineAdvice } from '../payments/decline-advice.js';
import type { Lookup } from '../payments/finding/lookup.js';
import type { Capacity } from '../payments/pipeline/capacity.js';
import type { Queryable } from '../postgres/database.js';
import { Fault } from '../values/faults.js';
import { secretsWereUsed } from '../values/traces-of-secrets.js';
import type { WalletKey } from '../wallets/wallet-keys.js';
import type { Wallets } from '../wallets/wallets.js';
import { overwrite, type RequestFigures, type RequestLog } from './answers.js';
import type { ClientAddresses } from './authentication.js';
import type { Site } from './operators-listener.js';

export interface PayersSiteParts {
  readonly database: Queryable;
  readonly payers: Payers;
  readonly wallets: Pick<Wallets, 'keysOf' | 'identityOf'>;
  readonly lookup: Lookup;
  readonly clock: Clock;
  readonly capacity: Capacity;
  readonly assets: PayersAssets;
  readonly clientAddresses: ClientAddresses;
  readonly requestLog: RequestLog;
  readonly requests: RequestFigures;
  readonly log: Pick<Logger, 'error'>;
  /** Of the pages, as Apple knows it. */
  readonly domain: string;
  /** With TLS, or behind a proxy that has it. */
  readonly isSecure: boolean;
  /** Where payers find the pages of another cell, without a trailing slash; undefined where that is not known. */
  readonly pagesOf: (cell: string) => Promise<string | undefined>;
  readonly draining: () => boolean;
  /** What the database has lost is not denied. */
  readonly hasLost: () => boolean;
}

interface Answered {
  readonly status: number;
  readonly type?: string;
  readonly text?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log. */
  readonly outcome?: string;
}

interface Asked {
  readonly request: IncomingMessage;
  readonly address: string;
  readonly path: string;
  /** As the log has it. */
  readonly route: string;
}

interface Shop {
  readonly merchant: Merchant;
  readonly brand: Brand;
  readonly walletKeys: readonly WalletKey[];
  /** The cell in which its organisation lives now, if that is another one. */
  readonly movedTo: string | undefined;
}

interface AtCheckout {
  readonly checkout: KnownCheckout;
  /** By the name that payers read. */
  readonly merchant: Merchant;
  readonly look: Look;
  readonly walletKeys: readonly WalletKey[];
}

interface FormAnswered {
  readonly status: number;
  readonly outcome: string;
  readonly notice?: Notice | undefined;
  readonly posted?: Posted;
}

const HTML = 'text/html; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const FORM_BYTES = 16 * 1024;
const PAGE_ROUTE = '/{checkout}';
const STATUS_ROUTE = '/{checkout}/status';
const SHOWN_FOR_MS = 1_000;
const MOST_SHOPS = 1_000;
const SESSION_ROUTE = '/{checkout}/apple-pay';
/** Somebody who keeps Apple busy keeps no more than these. */
const MOST_SESSIONS_AT_ONCE = 16;
const LOGO_ROUTE = '/{checkout}/logo';
const OF_CHECKOUTS: readonly string[] = [STATUS_ROUTE, LOGO_ROUTE, SESSION_ROUTE];
const COLOURS_ROUTE = '/colour';
const FEATURES_REFUSED = 'camera=(), geolocation=(), microphone=(), usb=()';

/** Of every answer. */
const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': `${FEATURES_REFUSED}, payment=()`,
};
/** Of answers that are no page: whatever a browser takes them for, they load nothing and stand in no frame. */
const NO_PAGE = {
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
};
const CSS = 'text/css; charset=utf-8';
const LASTING = 'public, max-age=31536000, immutable';
/** An SVG that somebody opens by itself is a document of this origin: it runs and fetches nothing, whatever is in it. */
const OF_LOGOS = {
  'cache-control': 'private, max-age=86400',
  // guard(checkout: a logo runs no script, also when it is opened by itself): "default-src 'none'; sandbox; frame-ancestors 'none'" ⇒ ''
  'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
};
const STAY_WITH_TLS = { 'strict-transport-security': 'max-age=31536000' };

export class PayersSite implements Site {
  readonly #files: ReadonlyMap<string, Asset>;
  readonly #integrity: string;
  readonly #shown: Shown;
  readonly #shops = new Map<string, { readonly shop: Promise<Shop>; readonly readMs: number }>();

  #sessionsAskedFor = 0;

  constructor(private readonly parts: PayersSiteParts) {
    const { style, script, embedding } = parts.assets;
    this.#files = new Map([style, script, embedding].map((asset) => [asset.path, asset]));
    const scripts = [script, embedding].map(({ path, integrity }) => ({ path, integrity }));
    const styles = [style].map(({ path, integrity }) => ({ path, integrity }));
    this.#integrity = JSON.stringify({ scripts, styles });
    this.#shown = { texts: ENGLISH, assets: { style: style.path, script: script.path } };
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    secretsWereUsed();
    const startedMs = performance.now();
    // Not known any more once the payer has left.
    const address = this.parts.clientAddresses.of(request);
    const { method = '', url = '/' } = request;
    const path = url.split('?', 1)[0] as string;
    const route = routeOf(path);
    void this.#answer({ request, address, path, route })
      .catch((error: unknown) => this.#away(error))
      .then((answered) => {
        // A body that was refused unread may hold a card number.
        if (!request.complete) request.on('data', overwrite);
        this.#send(response, method, answered);
        secretsWereUsed();
        const durationMs = performance.now() - startedMs;
        const known = this.#files.has(path) || path === '/integrity' || route !== path ? route : 'unknown';
        this.parts.requests.of('checkout page').note(answered.status, durationMs);
        this.parts.requestLog.note({
          method,
          route: known,
          status: answered.status,
          address,
          correlationId: undefined,
          outcome: answered.outcome,
          durationMs,
        });
      });
  }

  async #answer({ request, address, path, route }: Asked): Promise<Answered> {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const file = this.#files.get(path);
    const colours = coloursAt(path);
    const isFile = file !== undefined || colours !== undefined || path === '/integrity';
    const isPage = route === PAGE_ROUTE;
    if (!isFile && !isPage && !OF_CHECKOUTS.includes(route)) return this.#nothing();
    const allowed = isPage ? ['HEAD', 'GET', 'POST'] : route === SESSION_ROUTE ? ['POST'] : ['HEAD', 'GET'];
    if (!allowed.includes(method ?? ''))
      return { status: 405, type: 'text/plain', text: '', headers: { allow: allowed.join(', ') } };
    if (file !== undefined) return fileAnswer(file);
    if (colours !== undefined)
      return { status: 200, type: CSS, text: colours, headers: { 'cache-control': LASTING } };
    if (isFile)
      return {
        status: 200,
        type: JSON_TYPE,
        text: this.#integrity,
        headers: { 'access-control-allow-origin': '*' },
      };
    const { payers } = this.parts;
    const found = await payers.find(path.split('/')[1] as string);
    // guard(checkout: what may be lost is not said not to be there): this.parts.hasLost() ⇒ false
    if (found === undefined) return this.parts.hasLost() ? this.#away(undefined) : this.#nothing();
    const shop = await (method === 'POST' ? this.#readShop(found) : this.#shopOf(found));
    if (shop.movedTo !== undefined) return this.#leadOn(found, shop.movedTo, { route, method });
    const checkout = await payers.asItIs(found);
    if (route === STATUS_ROUTE)
      return { status: 200, type: JSON_TYPE, text: JSON.stringify({ status: checkout.status }) };
    if (route === LOGO_ROUTE) return this.#logo(checkout);
    const at = atCheckout(checkout, shop);
    if (route === SESSION_ROUTE) return this.#session(request, at);
    if (method === 'POST') return this.#post(request, address, at);
    return this.#show(at, { isFramed: request.headers['sec-fetch-dest'] === 'iframe' });
  }

  /**
   * To the cell in which the organisation lives now. What a payer has posted is not sent there: the page there asks for it. After a form
   * browsers follow no redirect to another origin, so that a link has to do.
   */
  async #leadOn(
    checkout: KnownCheckout,
    cell: string,
    { route, method }: { readonly route: string; readonly method: string | undefined },
  ): Promise<Answered> {
    // A page that waits for an outcome asks for itself again.
    if (route === STATUS_ROUTE)
      return { status: 200, type: JSON_TYPE, text: JSON.stringify({ status: 'moved' }), outcome: 'moved' };
    if (route === LOGO_ROUTE) return { status: 404, type: 'text/plain', text: '', outcome: 'moved' };
    const headers = framing(checkout);
    const base = await this.parts.pagesOf(cell);
    const onwards = base === undefined ? undefined : `${base}/${checkout.id}`;
    if (onwards !== undefined && method === 'GET')
      return { status: 303, headers: { ...headers, location: onwards }, outcome: 'moved' };
    const text = endPage('moved', { ...this.#shown, onwards });
    return { status: 410, type: HTML, text, headers, outcome: 'moved' };
  }

  async #readShop({ organisationId, merchantId, id }: KnownCheckout): Promise<Shop> {
    const { database, wallets } = this.parts;
    const acting = { username: `checkout:${id}`, userId: 0 };
    const caller = await callerFor(database, { organisationId, merchantId }, acting);
    const merchant = permittedMerchant(caller, merchantId);
    const [brand, walletKeys] = await Promise.all([
      brandOf(database, merchantId),
      wallets.keysOf({ organisationId, merchantId }),
    ]);
    return { merchant, brand, walletKeys, movedTo: caller.movedTo };
  }

  /** As it was a moment ago: what is paid is looked at anew. */
  #shopOf(checkout: KnownCheckout): Promise<Shop> {
    const key = `${checkout.organisationId} ${checkout.merchantId}`;
    const nowMs = performance.now();
    const known = this.#shops.get(key);
    if (known !== undefined && nowMs - known.readMs < SHOWN_FOR_MS) return known.shop;
    if (this.#shops.size >= MOST_SHOPS) this.#shops.clear();
    const shop = this.#readShop(checkout);
    this.#shops.set(key, { shop, readMs: nowMs });
    shop.catch(() => this.#shops.delete(key));
    return shop;
  }

  async #logo({ merchantId }: KnownCheckout): Promise<Answered> {
    const logo = await logoOf(this.parts.database, merchantId);
    if (logo === undefined) return { status: 404, type: 'text/plain', text: '' };
    return { status: 200, type: logo.type, text: logo.content, headers: OF_LOGOS };
  }

  /** The page for how the checkout stands. */
  async #show(at: AtCheckout, { isFramed }: { readonly isFramed: boolean }): Promise<Answered> {
    const { checkout, merchant, look } = at;
    const { id, status, terms, attempts, attemptsAllowed } = checkout;
    const headers = framing(checkout);
    const shown = { ...this.#shown, look, checkout, merchant };
    const page = (text: string): Answered => ({
      status: 200,
      type: HTML,
      text,
      headers,
      outcome: status,
    });
    const end = (ending: Ending, paidCents?: number) => page(endPage(ending, { ...shown, paidCents }));
    switch (status) {
      case 'processing':
        return page(processingPage(shown));
      case 'complete':
        // In a frame the shop's page is told, and shows what it likes.
        if (terms.returnUrl !== undefined && !isFramed)
          return {
            status: 303,
            headers: { ...headers, location: withCheckout(terms.returnUrl, id) },
            outcome: status,
          };
        return end('complete', await this.#paidCents(checkout));
      case 'cancelled':
        return end('cancelled');
      case 'expired':
        return end(attempts.length >= attemptsAllowed ? 'usedUp' : 'expired');
      case 'open':
        if (merchant.suspended || merchant.altered) return this.#away(undefined);
        return this.#form(at, { status: 200, outcome: status, notice: await this.#outcomeOfLast(checkout) });
    }
  }

  async #paidCents({ organisationId, merchantId, resultAudit }: KnownCheckout): Promise<number | undefined> {
    if (resultAudit === null) return undefined;
    return (await this.parts.lookup.byAudit({ organisationId }, resultAudit, [merchantId]))?.amountCents;
  }

  /** Why there is another attempt. */
  async #outcomeOfLast({ attempts, organisationId, merchantId }: KnownCheckout): Promise<Notice | undefined> {
    const last = attempts.at(-1);
    if (last === undefined) return undefined;
    if (last.audit === null) return 'failed';
    const transaction = await this.parts.lookup.byAudit({ organisationId }, last.audit, [merchantId]);
    if (transaction?.status !== 'declined') return 'failed';
    return declineAdvice(transaction) ?? 'declinedAccount';
  }

  #form(at: AtCheckout, { status, outcome, notice, posted }: FormAnswered): Answered {
    const { checkout, merchant, look } = at;
    const { quotes, offers } = this.#offered(at);
    const text = formPage({ ...this.#shown, look, checkout, merchant, quotes, offers, notice, posted });
    return { status, type: HTML, text, headers: framing(checkout, offers), outcome };
  }

  /** What a payer would pay now, and by which wallets. */
  #offered({ checkout: { terms }, merchant, walletKeys }: AtCheckout) {
    const quotes = quotesFor(terms, merchant, this.parts.clock.now());
    return { quotes, offers: offersFor(terms, quotes, merchant, walletKeys) };
  }

  /** After an attempt the browser is sent to the page itself: to load that again repeats nothing. */
  async #post(request: IncomingMessage, address: string, at: AtCheckout): Promise<Answered> {
    const { checkout, merchant } = at;
    const { id, terms, status } = checkout;
    const headers = framing(checkout);
    const again: Answered = { status: 303, headers: { ...headers, location: `/${id}` }, outcome: status };
    // guard(checkout: a page of somebody else does not post): isForeign(request) ⇒ false
    if (isForeign(request) || !FORM.test(request.headers['content-type'] ?? ''))
      return { ...again, outcome: 'refused' };
    const form = await readFormBody(request);
    if (form === undefined) return { status: 413, type: 'text/plain', text: '', outcome: 'refused' };
    if (status !== 'open') return again;
    if (merchant.suspended || merchant.altered || this.parts.draining()) return this.#away(undefined);
    const nowMs = this.parts.clock.now();
    const { quotes, offers } = this.#offered(at);
    const offered = offers.map(({ type }) => type);
    const posted = readForm(form, terms, offered, nowMs);
    const refused = (notice: Notice) => this.#form(at, { status: 422, outcome: notice, notice, posted });
    // Of an earlier page: the attempt was made, and the page says what has come of it.
    if (posted.n !== checkout.attempts.length + 1) return again;
    // guard(checkout: a payer pays what the page has shown): posted.quotes !== quotes.digest ⇒ false
    if (posted.quotes !== quotes.digest) return refused('changed');
    // Where nothing is marked, it was a wallet's.
    if (posted.given === undefined)
      return refused(Object.keys(posted.problems).length > 0 ? 'wrong' : 'failed');
    const { capacity, payers } = this.parts;
    const tenant = checkout.organisationId;
    if (capacity.refuses(tenant)) return this.#away(undefined);
    capacity.enter(tenant);
    try {
      await payers.pay(checkout, posted.n, posted.given, address);
    } catch (error) {
      if (error instanceof Fault && error.code === 'limit_reached') return refused('limited');
      if (error instanceof Fault && error.code.startsWith('wallet_')) return refused('failed');
      throw error;
    } finally {
      capacity.leave(tenant);
    }
    return again;
  }

  /** What Apple Pay wants before it shows the payer anything: as often as somebody asks, and nothing is stored. */
  async #session(request: IncomingMessage, at: AtCheckout): Promise<Answered> {
    const { checkout, merchant, walletKeys } = at;
    const none: Answered = { status: 422, type: JSON_TYPE, text: '{}', outcome: 'refused' };
    // guard(checkout: a page of somebody else gets no session): isForeign(request) ⇒ false
    if (isForeign(request) || !FORM.test(request.headers['content-type'] ?? '')) return none;
    const address = (await readFormBody(request))?.get('address') ?? '';
    const identity = appleIdentityIn(walletKeys);
    const { offers } = this.#offered(at);
    if (identity === undefined || !offers.some(({ type }) => type === 'apple_pay')) return none;
    if (checkout.status !== 'open' || merchant.suspended || merchant.altered) return none;
    if (this.#sessionsAskedFor >= MOST_SESSIONS_AT_ONCE) return { ...none, status: 503 };
    this.#sessionsAskedFor += 1;
    try {
      const session = await appleSession(await this.parts.wallets.identityOf(identity), {
        address,
        merchantIdentifier: identity.recipient,
        displayName: merchant.name,
        domain: this.parts.domain,
      });
      return session === undefined ? none : { status: 200, type: JSON_TYPE, text: session };
    } finally {
      this.#sessionsAskedFor -= 1;
    }
  }

  #nothing(): Answered {
    return {
      status: 404,
      type: HTML,
      text: endPage('unknown', this.#shown),
      headers: framing(undefined),
      outcome: 'unknown',
    };
  }

  /** Nothing was paid, or what was paid will be found. */
  #away(error: unknown): Answered {
    if (error !== undefined && !(error instanceof Fault || error instanceof Gone)) {
      const { name, code } = error as { name?: string; code?: string };
      this.parts.log.error({ name, code }, 'a checkout could not be shown');
    }
    const headers = { ...framing(undefined), 'retry-after': '30' };
    return { status: 503, type: HTML, text: endPage('away', this.#shown), headers, outcome: 'not_processed' };
  }

  #send(response: ServerResponse, method: string, { status, type, text = '', headers }: Answered): void {
    if (response.writableEnded) return;
    response.writeHead(status, {
      ...HEADERS,
      ...(this.parts.isSecure && STAY_WITH_TLS),
      ...(type !== undefined && { 'content-type': type }),
      'content-length': Buffer.byteLength(text),
      ...(this.parts.draining() && { connection: 'close' }),
      ...(headers?.['content-security-policy'] === undefined && NO_PAGE),
      ...headers,
    });
    response.end(method === 'HEAD' ? undefined : text);
  }
}

/** For the log, which names no checkout; of what is no checkout's, the path. */
function routeOf(path: string): string {
  const [id = '', ...rest] = path.slice(1).split('/');
  if (!isCheckoutId(id)) return coloursAt(path) === undefined ? path : COLOURS_ROUTE;
  const within = rest.join('/');
  if (within === 'status') return STATUS_ROUTE;
  if (within === 'logo') return LOGO_ROUTE;
  if (within === 'apple-pay') return SESSION_ROUTE;
  return rest.length === 0 ? PAGE_ROUTE : path;
}

/** Who may show the page in a frame, and where its form may lead: browsers follow a form's redirects only there. */
function framing(checkout: KnownCheckout | undefined, offers: readonly Offer[] = []): Record<string, string> {
  const { frameOrigins = [], returnUrl, cancelUrl } = checkout?.terms ?? {};
  const leadsTo = [returnUrl, cancelUrl].filter((url) => url !== undefined).map((url) => new URL(url).origin);
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...browserConnects(offers)].join(' '),
    "base-uri 'none'",
    `form-action ${["'self'", ...new Set(leadsTo)].join(' ')}`,
    // guard(checkout: only named origins show the page in a frame): frameOrigins.length === 0 ? "'none'" : frameOrigins.join(' ') ⇒ '*'
    `frame-ancestors ${frameOrigins.length === 0 ? "'none'" : frameOrigins.join(' ')}`,
  ].join('; ');
  return {
    'content-security-policy': policy,
    ...(frameOrigins.length === 0 && { 'x-frame-options': 'DENY' }),
    ...(offers.length > 0 && { 'permissions-policy': `${FEATURES_REFUSED}, payment=(self)` }),
  };
}

function fileAnswer({ type, content, isLasting }: Asset): Answered {
  const caching = isLasting ? LASTING : 'public, max-age=3600';
  return {
    status: 200,
    type,
    text: content,
    // Scripts that are checked for their integrity are fetched with this.
    headers: {
      'cache-control': caching,
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    },
  };
}

function atCheckout(checkout: KnownCheckout, { merchant, brand, walletKeys }: Shop): AtCheckout {
  const { displayName, colour, logoDigest } = brand;
  return {
    checkout,
    merchant: { ...merchant, name: displayName ?? merchant.name },
    look: {
      colours: colour === null ? undefined : coloursAddress(colour),
      // Another logo has another address: browsers keep each.
      logo: logoDigest === null ? undefined : `/${checkout.id}/logo?${logoDigest.slice(0, 12)}`,
    },
    walletKeys,
  };
}

/** By what browsers say of a request. Others say nothing, and there are no cookies that a foreign page could use. */
function isForeign({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

/** Undefined if there is too much of it. The pieces are overwritten: they hold card numbers. */
async function readFormBody(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > FORM_BYTES) return undefined;
  const whole = await new Promise<Buffer | undefined>((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const end = (isWhole: boolean) => {
      request.off('data', take);
      resolve(isWhole ? Buffer.concat(pieces) : undefined);
      for (const piece of pieces) piece.fill(0);
    };
    const take = (piece: Buffer) => {
      length += piece.length;
      pieces.push(piece);
      if (length > FORM_BYTES) end(false);
    };
    request
      .on('data', take)
      .once('end', () => end(true))
      .once('error', reject)
      .once('close', () => reject(new Gone()));
  });
  const form = whole && new URLSearchParams(whole.toString('utf8'));
  whole?.fill(0);
  return form;
}

/** A payer who has left before the form was there. */
class Gone extends Error {}
