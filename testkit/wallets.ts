// Merchants with keys for wallets, and shops whose payers pay by them.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AppleChain,
  type ApplePayment,
  type AppleToken,
  makeAppleChain,
  makeAppleToken,
} from './apple-pay.js';
import { type Json, paymentBody } from './bodies.js';
import { makeCertificate, type TestCertificate } from './certificates.js';
import { runHere } from './command-here.js';
import { commands, wordsOf } from './commands.js';
import type { TestGateway } from './gateway.js';
import {
  type GooglePair,
  type GooglePayment,
  type GoogleToken,
  googleRoots,
  makeGooglePair,
  makeGoogleToken,
} from './google-pay.js';

const APPLE_MERCHANT = 'merchant.com.example.shop';
const GOOGLE_MERCHANT = 'merchant:12345678901234567890';
/** DER of a public key on P-256 up to its point. */
const BEFORE_POINT = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex');

/** Where commands find it. */
type Place = Pick<TestGateway, 'databaseUrl' | 'dataDir'>;

export const walletCommands = ({ databaseUrl, dataDir }: Place) =>
  commands((line) =>
    runHere(['wallet', ...wordsOf(line)], { DATABASE_URL: databaseUrl, TOLLGATE_DATA_DIR: dataDir }),
  );

export interface AppleShop {
  readonly chain: AppleChain;
  readonly added: Json;
  token(payment?: Partial<ApplePayment>): AppleToken;
}

export async function appleShop(gateway: Place, merchant = 1): Promise<AppleShop> {
  const chain = makeAppleChain();
  const roots = await fileOf(gateway, 'roots.pem', chain.root.certificate);
  const added = await walletCommands(gateway).json(
    `add --merchant ${merchant} --type apple_pay --recipient ${APPLE_MERCHANT} --roots-file ${roots}`,
  );
  return {
    chain,
    added,
    token: (payment) =>
      makeAppleToken(chain, {
        merchantKey: Buffer.from(added.public_key, 'base64'),
        merchantIdentifier: APPLE_MERCHANT,
        ...payment,
      }),
  };
}

/** The certificate by which Apple knows the merchant of the shop. */
export async function appleIdentity(gateway: Place, merchant = 1): Promise<TestCertificate> {
  const identity = makeCertificate({ name: APPLE_MERCHANT });
  const certificate = await fileOf(gateway, 'identity.pem', identity.certificate);
  const key = await fileOf(gateway, 'identity-key.pem', identity.key);
  await walletCommands(gateway).json(
    `identify --merchant ${merchant} --recipient ${APPLE_MERCHANT} --certificate-file ${certificate} --key-file ${key}`,
  );
  return identity;
}

export interface GoogleShop {
  readonly root: GooglePair;
  readonly added: Json;
  token(payment?: Partial<GooglePayment>): GoogleToken;
}

export async function googleShop(
  gateway: Place,
  { merchant = 1, recipient = GOOGLE_MERCHANT, more = '' } = {},
): Promise<GoogleShop> {
  const root = makeGooglePair();
  const roots = await fileOf(gateway, 'roots.json', googleRoots([root]));
  const added = await walletCommands(gateway).json(
    `add --merchant ${merchant} --type google_pay --recipient ${recipient} --roots-file ${roots} ${more}`,
  );
  return {
    root,
    added,
    token: (payment) => makeGoogleToken({ recipientKey: recipientKeyOf(added), recipient, root, ...payment }),
  };
}

/** Of what was printed for Google: a point in base64. */
export function recipientKeyOf({ public_key: point }: { readonly public_key: string }): Buffer {
  return Buffer.concat([BEFORE_POINT, Buffer.from(point, 'base64')]);
}

export async function fileOf(
  { dataDir }: Pick<Place, 'dataDir'>,
  name: string,
  text: string,
): Promise<string> {
  const path = join(dataDir, name);
  await writeFile(path, text);
  return path;
}

/** A payment of as much as the makers of tokens say. */
export function walletBody(
  type: 'apple_pay' | 'google_pay',
  token: unknown,
  { amount = 1995, currency = 'AUD', merchant = 1 } = {},
): Json {
  const body = paymentBody({ amount, currency, merchant });
  body.transaction.payment_method = { wallet: { type, token } };
  return body;
}
