// A maker of payment method tokens as Google Pay makes them (ECv2), with root keys of its own in Google's place. Written from what Google
// has published, and not from the code that opens them.
import {
  createCipheriv,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto';

const HOUR_MS = 3_600_000;

export interface GooglePair {
  readonly privateKey: KeyObject;
  /** Base64 of its SubjectPublicKeyInfo. */
  readonly keyValue: string;
}

export function makeGooglePair(): GooglePair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey, keyValue: publicKey.export({ type: 'spki', format: 'der' }).toString('base64') };
}

/** As Google publishes its root keys. */
export function googleRoots(
  roots: readonly GooglePair[],
  expires = new Date(Date.now() + 1_000 * HOUR_MS),
): string {
  return JSON.stringify({
    keys: roots.map(({ keyValue }) => ({
      keyValue,
      protocolVersion: 'ECv2',
      keyExpiration: String(expires.getTime()),
    })),
  });
}

export interface GooglePayment {
  /** DER of the recipient's SubjectPublicKeyInfo. */
  readonly recipientKey: Buffer;
  /** `merchant:…` or `gateway:…` */
  readonly recipient: string;
  readonly root: GooglePair;
  readonly pan?: string;
  readonly authMethod?: 'PAN_ONLY' | 'CRYPTOGRAM_3DS';
  readonly cryptogram?: string;
  readonly eci?: string;
  readonly messageId?: string;
  readonly expires?: Date;
  readonly intermediateExpires?: Date;
  readonly gatewayMerchantId?: string;
  readonly protocolVersion?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}

export interface GoogleToken {
  readonly protocolVersion: string;
  readonly signature: string;
  readonly intermediateSigningKey: { readonly signedKey: string; readonly signatures: readonly string[] };
  readonly signedMessage: string;
}

export function makeGoogleToken(payment: GooglePayment): GoogleToken {
  const { root, recipient, recipientKey, protocolVersion = 'ECv2' } = payment;
  const intermediate = makeGooglePair();
  const signedKey = JSON.stringify({
    keyValue: intermediate.keyValue,
    keyExpiration: String((payment.intermediateExpires ?? new Date(Date.now() + HOUR_MS)).getTime()),
  });
  const signedMessage = encrypt(recipientKey, JSON.stringify(contentOf(payment)));
  return {
    protocolVersion,
    signature: signed(intermediate, 'Google', recipient, protocolVersion, signedMessage),
    intermediateSigningKey: {
      signedKey,
      signatures: [signed(root, 'Google', protocolVersion, signedKey)],
    },
    signedMessage,
  };
}

function contentOf({
  pan = '4111111111111111',
  authMethod = 'CRYPTOGRAM_3DS',
  cryptogram = Buffer.alloc(20, 9).toString('base64'),
  eci = '05',
  messageId = randomUUID(),
  expires = new Date(Date.now() + HOUR_MS),
  gatewayMerchantId,
  content = {},
}: GooglePayment): object {
  return {
    messageExpiration: String(expires.getTime()),
    messageId,
    paymentMethod: 'CARD',
    ...(gatewayMerchantId !== undefined && { gatewayMerchantId }),
    paymentMethodDetails: {
      pan,
      expirationMonth: 12,
      expirationYear: 2030,
      authMethod,
      ...(authMethod === 'CRYPTOGRAM_3DS' && { cryptogram, eciIndicator: eci }),
    },
    ...content,
  };
}

function signed({ privateKey }: GooglePair, ...parts: readonly string[]): string {
  const bytes = parts.flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeInt32LE(Buffer.byteLength(part));
    return [length, Buffer.from(part)];
  });
  return sign('sha256', Buffer.concat(bytes), privateKey).toString('base64');
}

function encrypt(recipientKey: Buffer, text: string): string {
  const ephemeral = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // The last 65 bytes are the point itself.
  const point = ephemeral.publicKey.export({ type: 'spki', format: 'der' }).subarray(-65);
  const publicKey = createPublicKey({ key: recipientKey, format: 'der', type: 'spki' });
  const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey });
  const keys = Buffer.from(
    hkdfSync('sha256', Buffer.concat([point, shared]), Buffer.alloc(32), Buffer.from('Google'), 64),
  );
  const cipher = createCipheriv('aes-256-ctr', keys.subarray(0, 32), Buffer.alloc(16));
  const message = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return JSON.stringify({
    encryptedMessage: message.toString('base64'),
    ephemeralPublicKey: point.toString('base64'),
    tag: createHmac('sha256', keys.subarray(32)).update(message).digest('base64'),
  });
}
