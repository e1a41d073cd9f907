// Detached signatures in CMS (RFC 5652), as Apple signs payment tokens: one signer, ECDSA with SHA-256, and a chain of two certificates
// below a root that is trusted.
import { createHash, verify, X509Certificate } from 'node:crypto';
import { type Element, elementsOf, NotDer, oid, onlyElementOf, TAG, timeOf } from './der.js';

const OID = {
  signedData: oid('1.2.840.113549.1.7.2'),
  data: oid('1.2.840.113549.1.7.1'),
  sha256: oid('2.16.840.1.101.3.4.2.1'),
  ecdsaWithSha256: oid('1.2.840.10045.4.3.2'),
  contentType: oid('1.2.840.113549.1.9.3'),
  messageDigest: oid('1.2.840.113549.1.9.4'),
  signingTime: oid('1.2.840.113549.1.9.5'),
};

/** What Apple marks certificates with that sign payment tokens, and certificates that sign those. */
const SIGNS_TOKENS = oid('1.2.840.113635.100.6.29');
const SIGNS_SIGNERS = oid('1.2.840.113635.100.6.2.14');

const MOST_CERTIFICATES = 4;

interface Certificate {
  readonly x509: X509Certificate;
  readonly issuer: Buffer;
  readonly serialNumber: Buffer;
  /** Their object identifiers. */
  readonly extensions: readonly Buffer[];
}

interface Signer {
  readonly issuer: Buffer;
  readonly serialNumber: Buffer;
  /** As they are signed. */
  readonly attributes: Buffer;
  readonly digest: Buffer;
  readonly signedMs: number;
  readonly signature: Buffer;
}

/** When it was signed; undefined if the signature is not one of these bytes by a signer below the roots that was valid then. */
export function signedAtMs(
  signature: Buffer,
  signed: Buffer,
  roots: readonly X509Certificate[],
): number | undefined {
  try {
    const { certificates, signer } = readSignedData(signature);
    const leaf = certificates.find(
      ({ issuer, serialNumber }) => issuer.equals(signer.issuer) && serialNumber.equals(signer.serialNumber),
    );
    if (leaf === undefined || !isTrusted(leaf, certificates, roots, signer.signedMs)) return undefined;
    // guard(wallets: what is signed is this token): !createHash('sha256').update(signed).digest().equals(signer.digest) ⇒ false
    if (!createHash('sha256').update(signed).digest().equals(signer.digest)) return undefined;
    // guard(wallets: the signature is the signer's): !verify('sha256', signer.attributes, leaf.x509.publicKey, signer.signature) ⇒ false
    if (!verify('sha256', signer.attributes, leaf.x509.publicKey, signer.signature)) return undefined;
    return signer.signedMs;
  } catch {
    // Also what OpenSSL throws at a certificate or a signature that is none.
    return undefined;
  }
}

function isTrusted(
  leaf: Certificate,
  certificates: readonly Certificate[],
  roots: readonly X509Certificate[],
  atMs: number,
): boolean {
  // guard(wallets: a certificate signs tokens only with its mark): !isMarked(leaf, SIGNS_TOKENS) ⇒ false
  if (!isMarked(leaf, SIGNS_TOKENS) || leaf.x509.ca || !isValid(leaf.x509, atMs)) return false;
  return certificates.some((intermediate) => {
    // guard(wallets: a certificate signs signers only with its mark): isMarked(intermediate, SIGNS_SIGNERS) && ⇒
    const isOne = isMarked(intermediate, SIGNS_SIGNERS) && intermediate.x509.ca;
    if (!isOne || !isValid(intermediate.x509, atMs) || !isSignedBy(leaf.x509, intermediate.x509))
      return false;
    // guard(wallets: the chain ends at a root of the operator's): isSignedBy(intermediate.x509, root) ⇒ true
    return roots.some((root) => isValid(root, atMs) && isSignedBy(intermediate.x509, root));
  });
}

function isMarked({ extensions }: Certificate, mark: Buffer): boolean {
  return extensions.some((extension) => extension.equals(mark));
}

// guard(wallets: an expired certificate signs nothing): atMs >= Date.parse(certificate.validFrom) && atMs <= Date.parse(certificate.validTo) ⇒ atMs > 0
function isValid(certificate: X509Certificate, atMs: number): boolean {
  return atMs >= Date.parse(certificate.validFrom) && atMs <= Date.parse(certificate.validTo);
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function readSignedData(signature: Buffer): {
  readonly certificates: readonly Certificate[];
  readonly signer: Signer;
} {
  const [contentType, content] = parts(onlyElementOf(signature, TAG.sequence, 'BER'), 2);
  expectOid(contentType, OID.signedData);
  const wrapped = onlyElementOf(expectTag(content, TAG.zeroth).content, TAG.sequence, 'BER');
  const [version, digests, encapsulated, certificates, signers] = parts(wrapped, 5);
  expectVersionOne(version);
  expectDigest(onlyElementOf(expectTag(digests, TAG.set).content, TAG.sequence));
  // The content itself is elsewhere.
  const [encapsulatedType] = parts(expectTag(encapsulated, TAG.sequence), 1);
  expectOid(encapsulatedType, OID.data);
  const certified = elementsOf(expectTag(certificates, TAG.zeroth).content, 'BER');
  if (certified.length > MOST_CERTIFICATES) throw new NotDer('too many certificates');
  const signer = readSigner(onlyElementOf(expectTag(signers, TAG.set).content, TAG.sequence, 'BER'));
  return { certificates: certified.map(readCertificate), signer };
}

function readSigner({ content }: Element): Signer {
  const [version, name, digest, attributes, algorithm, signature, unsigned, ...rest] = elementsOf(
    content,
    'BER',
  );
  if (rest.length > 0 || (unsigned !== undefined && unsigned.tag !== TAG.first))
    throw new NotDer('not a signer');
  expectVersionOne(version);
  const [issuer, serialNumber] = parts(expectTag(name, TAG.sequence), 2, 'DER');
  expectDigest(digest);
  const [signatureAlgorithm] = parts(expectTag(algorithm, TAG.sequence), 1, 'DER');
  expectOid(signatureAlgorithm, OID.ecdsaWithSha256);
  const signed = expectTag(attributes, TAG.zeroth);
  const known = readAttributes(signed);
  expectOid(attributeOf(known, OID.contentType), OID.data);
  // A signature is over the attributes as the set that they are, though they stand there as `[0]`.
  const asSet = Buffer.from(signed.whole);
  asSet[0] = TAG.set;
  return {
    issuer: expectTag(issuer, TAG.sequence).whole,
    serialNumber: expectTag(serialNumber, TAG.integer).content,
    attributes: asSet,
    digest: expectTag(attributeOf(known, OID.messageDigest), TAG.octets).content,
    signedMs: timeOf(attributeOf(known, OID.signingTime)),
    signature: expectTag(signature, TAG.octets).content,
  };
}

type Attribute = readonly [type: Buffer, value: Element];

function readAttributes({ content }: Element): readonly Attribute[] {
  return elementsOf(content).map((attribute) => {
    const [type, values] = parts(expectTag(attribute, TAG.sequence), 2, 'DER');
    const [value, ...more] = elementsOf(expectTag(values, TAG.set).content);
    if (value === undefined || more.length > 0) throw new NotDer('an attribute with more than one value');
    return [expectTag(type, TAG.oid).content, value];
  });
}

/** It stands there once: readers that take the first and readers that take the last would disagree. */
function attributeOf(attributes: readonly Attribute[], wanted: Buffer): Element {
  const [found, ...more] = attributes.filter(([type]) => type.equals(wanted));
  if (found === undefined || more.length > 0) throw new NotDer('an attribute is missing, or stands twice');
  return found[1];
}

function readCertificate({ whole }: Element): Certificate {
  const [signed] = parts(onlyElementOf(whole, TAG.sequence), 3, 'DER');
  const fields = elementsOf(expectTag(signed, TAG.sequence).content);
  // The version comes first, as `[0]`: certificates without it have no extensions.
  const [version, serialNumber, , issuer] = fields;
  expectTag(version, TAG.zeroth);
  const extensions = fields.filter(({ tag }) => tag === TAG.third);
  return {
    x509: new X509Certificate(whole),
    issuer: expectTag(issuer, TAG.sequence).whole,
    serialNumber: expectTag(serialNumber, TAG.integer).content,
    extensions: extensions.flatMap(({ content }) =>
      elementsOf(onlyElementOf(content, TAG.sequence).content).map((extension) => {
        const [type] = elementsOf(expectTag(extension, TAG.sequence).content);
        return expectTag(type, TAG.oid).content;
      }),
    ),
  };
}

function parts(element: Element, count: number, lengths: 'DER' | 'BER' = 'BER'): Element[] {
  const found = elementsOf(element.content, lengths);
  if (found.length !== count) throw new NotDer('more or fewer elements than there should be');
  return found;
}

function expectTag(element: Element | undefined, tag: number): Element {
  if (element?.tag !== tag) throw new NotDer('another element than there should be');
  return element;
}

function expectOid(element: Element | undefined, wanted: Buffer): void {
  if (!expectTag(element, TAG.oid).content.equals(wanted)) throw new NotDer('another object identifier');
}

function expectVersionOne(element: Element | undefined): void {
  if (!expectTag(element, TAG.integer).content.equals(Buffer.from([1]))) throw new NotDer('another version');
}

/** SHA-256, whose parameters are left out or nothing. */
function expectDigest(element: Element | undefined): void {
  const [type, parameters, ...rest] = elementsOf(expectTag(element, TAG.sequence).content);
  expectOid(type, OID.sha256);
  if (rest.length > 0 || (parameters !== undefined && !isNothing(parameters)))
    throw new NotDer('another digest');
}

function isNothing({ tag, content }: Element): boolean {
  return tag === TAG.nothing && content.length === 0;
}
