// A maker of payment data as Apple Pay makes it (EC_v1), with a certification authority of its own in Apple's place. Written from what Apple
// has published, and not from the code that opens it.
import {
  createCipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import {
  ECDSA_WITH_SHA256,
  encoded,
  identifier,
  integer,
  makeCertificate,
  NOTHING,
  octets,
  sequence,
  type TestCertificate,
  tagged,
  time,
} from './certificates.js';

/** 1.2.840.113635.100.6.29 and 1.2.840.113635.100.6.2.14 */
export const LEAF_MARK = '2a864886f76364061d';
export const INTERMEDIATE_MARK = '2a864886f7636406020e';

const SIGNED_DATA = identifier('2a864886f70d010702');
const DATA = identifier('2a864886f70d010701');
const SHA256 = sequence(identifier('608648016503040201'), NOTHING);
const CONTENT_TYPE = identifier('2a864886f70d010903');
const MESSAGE_DIGEST = identifier('2a864886f70d010904');
const SIGNING_TIME = identifier('2a864886f70d010905');

export interface ApplePayment {
  /** As the merchant's certificate has it: DER of its SubjectPublicKeyInfo. */
  readonly merchantKey: Buffer;
  readonly merchantIdentifier: string;
  readonly amountCents?: number;
  /** ISO 4217 number. */
  readonly currencyCode?: string;
  readonly pan?: string;
  /** YYMMDD */
  readonly expires?: string;
  readonly cryptogram?: string;
  readonly eci?: string;
  readonly signedAt?: Date;
  readonly transactionId?: string;
  /** SHA-256 of the shop's data, in hexadecimal. */
  readonly applicationData?: string;
  /** More, or other, members of what is encrypted. */
  readonly content?: Readonly<Record<string, unknown>>;
  /** As Apple writes it: elements end where their end is marked. */
  readonly indefinite?: boolean;
}

export interface AppleToken {
  readonly version: string;
  readonly data: string;
  readonly signature: string;
  readonly header: {
    readonly ephemeralPublicKey: string;
    readonly publicKeyHash: string;
    readonly transactionId: string;
    readonly applicationData?: string;
  };
}

export interface AppleChain {
  readonly root: TestCertificate;
  readonly intermediate: TestCertificate;
  readonly leaf: TestCertificate;
}

export function makeAppleChain({
  root = makeCertificate({ name: 'Wallet Root' }),
  intermediateMarks = [INTERMEDIATE_MARK],
  leafMarks = [LEAF_MARK],
  leafUntil,
}: {
  readonly root?: TestCertificate;
  readonly intermediateMarks?: readonly string[];
  readonly leafMarks?: readonly string[];
  readonly leafUntil?: Date;
} = {}): AppleChain {
  const intermediate = makeCertificate({
    name: 'Wallet Intermediate',
    issuer: root,
    marks: intermediateMarks,
  });
  const leaf = makeCertificate({
    name: 'Wallet Signer',
    issuer: intermediate,
    isAuthority: false,
    marks: leafMarks,
    ...(leafUntil && { until: leafUntil, from: new Date(leafUntil.getTime() - 86_400_000) }),
  });
  return { root, intermediate, leaf };
}

export function makeAppleToken(chain: AppleChain, payment: ApplePayment): AppleToken {
  const {
    merchantKey,
    merchantIdentifier,
    transactionId = randomBytes(32).toString('hex'),
    applicationData,
    signedAt = new Date(),
    indefinite = true,
  } = payment;
  const ephemeral = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ephemeralPublicKey = ephemeral.publicKey.export({ type: 'spki', format: 'der' });
  const shared = diffieHellman({
    privateKey: ephemeral.privateKey,
    publicKey: createPublicKey({ key: merchantKey, format: 'der', type: 'spki' }),
  });
  const data = encrypt(keyFrom(shared, merchantIdentifier), JSON.stringify(contentOf(payment)));
  const signed = Buffer.concat([
    ephemeralPublicKey,
    data,
    Buffer.from(transactionId, 'hex'),
    Buffer.from(applicationData ?? '', 'hex'),
  ]);
  return {
    version: 'EC_v1',
    data: data.toString('base64'),
    signature: detachedSignature(chain, signed, signedAt, indefinite).toString('base64'),
    header: {
      ephemeralPublicKey: ephemeralPublicKey.toString('base64'),
      publicKeyHash: createHash('sha256').update(merchantKey).digest('base64'),
      transactionId,
      ...(applicationData !== undefined && { applicationData }),
    },
  };
}

function contentOf({
  amountCents = 1995,
  currencyCode = '036',
  pan = '4111111111111111',
  expires = '301231',
  cryptogram = Buffer.alloc(20, 7).toString('base64'),
  eci = '7',
  content = {},
}: ApplePayment): object {
  return {
    applicationPrimaryAccountNumber: pan,
    applicationExpirationDate: expires,
    currencyCode,
    transactionAmount: amountCents,
    deviceManufacturerIdentifier: '040010030273',
    paymentDataType: '3DSecure',
    paymentData: { onlinePaymentCryptogram: cryptogram, ...(eci !== '' && { eciIndicator: eci }) },
    ...content,
  };
}

/** NIST SP 800-56A, section 5.8.1: counter, shared secret, algorithm, who makes it and who gets it. */
function keyFrom(shared: Buffer, merchantIdentifier: string): Buffer {
  const otherInfo = Buffer.concat([
    Buffer.from([13]),
    Buffer.from('id-aes256-GCM'),
    Buffer.from('Apple'),
    createHash('sha256').update(merchantIdentifier).digest(),
  ]);
  return createHash('sha256')
    .update(Buffer.concat([Buffer.from('00000001', 'hex'), shared, otherInfo]))
    .digest();
}

function encrypt(key: Buffer, text: string): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, Buffer.alloc(16, 0));
  return Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

function detachedSignature(
  { leaf, intermediate }: AppleChain,
  signed: Buffer,
  at: Date,
  indefinite: boolean,
): Buffer {
  const attributes = Buffer.concat([
    attribute(CONTENT_TYPE, DATA),
    attribute(SIGNING_TIME, time(at)),
    attribute(MESSAGE_DIGEST, octets(createHash('sha256').update(signed).digest())),
  ]);
  const [signer, issuer] = [derOf(leaf), derOf(intermediate)];
  const signerInfo = sequence(
    integer(Buffer.from([1])),
    sequence(issuerOf(signer), serialNumberOf(signer)),
    SHA256,
    tagged(0, attributes),
    ECDSA_WITH_SHA256,
    octets(sign('sha256', encoded(0x31, attributes), leaf.privateKey as KeyObject)),
  );
  const outer = (tag: number, ...parts: readonly Uint8Array[]) =>
    indefinite
      ? Buffer.concat([Buffer.from([tag, 0x80]), ...parts, Buffer.from([0, 0])])
      : encoded(tag, Buffer.concat(parts));
  return outer(
    0x30,
    SIGNED_DATA,
    outer(
      0xa0,
      outer(
        0x30,
        integer(Buffer.from([1])),
        encoded(0x31, SHA256),
        outer(0x30, DATA),
        outer(0xa0, signer, issuer),
        encoded(0x31, signerInfo),
      ),
    ),
  );
}

const attribute = (type: Buffer, value: Buffer) => sequence(type, encoded(0x31, value));

function derOf({ certificate }: TestCertificate): Buffer {
  return new X509Certificate(certificate).raw;
}

/** The certificates that this kit makes: two lengths of two bytes, `[0]` with the version, then serial number, algorithm and issuer. */
function serialNumberOf(certificate: Buffer): Buffer {
  return certificate.subarray(13, 13 + 18);
}

function issuerOf(certificate: Buffer): Buffer {
  const from = 13 + 18 + ECDSA_WITH_SHA256.length;
  return certificate.subarray(from, from + 2 + (certificate[from + 1] as number));
}
