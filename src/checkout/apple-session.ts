// Before a browser shows the sheet of Apple Pay, Apple wants to know who asks: the merchant's own certificate gets a session from it, which
// goes on to the browser unread.
import type { Identity } from '../wallets/wallet-keys.js';
import { Sender } from '../webhooks/delivery/sender.js';

export interface SessionWish {
  /** As the browser has it from Apple. */
  readonly address: string;
  readonly merchantIdentifier: string;
  readonly displayName: string;
  /** Of the page. */
  readonly domain: string;
}

/** https://developer.apple.com/documentation/applepayontheweb/setting-up-your-server */
const APPLES =
  /^https:\/\/(?:cn-)?apple-pay-gateway(?:-[a-z0-9-]+)?\.apple\.com\/paymentservices\/[A-Za-z]+$/;
const TIMEOUT_MS = 10_000;
const MOST_BYTES = 65_536;
const LONGEST_NAME = 64;

/** As JSON; undefined where Apple has given none. */
export async function appleSession(identity: Identity, wish: SessionWish): Promise<string | undefined> {
  const { address, merchantIdentifier, domain } = wish;
  // guard(checkout: the merchant's certificate is shown to Apple alone): APPLES.test(address) ⇒ true
  if (!APPLES.test(address)) return undefined;
  const displayName = wish.displayName.slice(0, LONGEST_NAME);
  const sender = new Sender({ networks: [], timeoutMs: TIMEOUT_MS, identity, mostBytes: MOST_BYTES });
  try {
    const answer = await sender.post({
      url: address,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ merchantIdentifier, displayName, initiative: 'web', initiativeContext: domain }),
    });
    if (answer.kind !== 'answered' || answer.httpStatus !== 200) return undefined;
    const session = answer.body.toString('utf8');
    return isJson(session) ? session : undefined;
  } finally {
    sender.close();
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
