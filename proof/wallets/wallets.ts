// Programs of others judge payments by wallet: Google's library Tink makes tokens that the gateway opens, opens what our maker makes, and
// refuses what the gateway refuses; OpenSSL signs as Apple does, and checks our maker's signatures and our requests for certificates.
import { createHash, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApplePay } from '../../src/wallets/apple-pay.js';
import { openGooglePay } from '../../src/wallets/google-pay.js';
import { PayloadRefused } from '../../src/wallets/opened.js';
import { isWrong, readPayload } from '../../src/wallets/payloads.js';
import { readGoogleRoots } from '../../src/wallets/roots.js';
import { signingRequest } from '../../src/wallets/signing-request.js';
import { type AppleToken, makeAppleChain, makeAppleToken } from '../../testkit/apple-pay.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { type GooglePair, googleRoots, makeGooglePair, makeGoogleToken } from '../../testkit/google-pay.js';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { Missing, needed, run, type Said, tool } from '../arena/tools.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  // A folder with com.google.crypto.tink:apps-paymentmethodtoken and the libraries that it needs.
  jars: process.env.TOLLGATE_TEST_TINK ?? '',
  tokens: 200,
  // Of Tink's tokens with a character altered, to Tink and to the gateway.
  altered: 1_000,
  signatures: 20,
  seed: newSeed(),
});
const random = new Chance(values.seed);
const folder = temporaryFolder('wallets');
const RECIPIENT = 'merchant:12345678901234567890';
const MERCHANT = 'merchant.com.example.shop';
const POINT_BYTES = 65;

const broken: Record<string, string[]> = {};
const note = (promise: string, what: string) => {
  broken[promise] = [...(broken[promise] ?? []), what];
};
const figures: string[] = [];

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
const pkcs8 = (key: KeyObject) => base64(key.export({ type: 'pkcs8', format: 'der' }));
const own = makeGooglePair();
const ownSpki = Buffer.from(own.keyValue, 'base64');

await judge('Tink', judgeByTink);
await judge('OpenSSL', judgeByOpenssl);
process.exitCode = verdict(broken, `wallets: seed ${values.seed}; ${figures.join('; ')}`);

async function judge(name: string, work: () => Promise<string>): Promise<void> {
  try {
    figures.push(await work());
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    say(`wallets: ${name} is skipped: ${error.message}`);
    figures.push(`${name} skipped`);
  }
}

/** What the gateway makes of a token; undefined if it refuses it. */
function openedHere(token: unknown, root: GooglePair): string | undefined {
  const read = readPayload('google_pay', token);
  if (isWrong(read) || read.type !== 'google_pay') return undefined;
  const roots = readGoogleRoots(googleRoots([root])) ?? [];
  const key = { privateKey: own.privateKey, recipient: RECIPIENT, gatewayMerchant: undefined, roots };
  return refusedAsUndefined(() => openGooglePay(read.payload, key, Date.now()).card.number.reveal());
}

function refusedAsUndefined(open: () => string): string | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof PayloadRefused) return undefined;
    throw error;
  }
}

async function judgeByTink(): Promise<string> {
  if (values.jars === '')
    throw new Missing(
      '--jars or TOLLGATE_TEST_TINK names a folder with apps-paymentmethodtoken and its libraries',
    );
  const found = existsSync(values.jars) ? readdirSync(values.jars) : [];
  if (!found.some((name) => name.startsWith('apps-paymentmethodtoken')))
    throw new Missing(`${values.jars} has no apps-paymentmethodtoken in it`);
  await needed('java', '-version');
  await needed('javac', '-version');
  const libraries = join(values.jars, '*');
  await run('javac', [
    '-nowarn',
    '-cp',
    libraries,
    '-d',
    folder,
    join(PROJECT_ROOT, 'proof', 'wallets', 'Tink.java'),
  ]);
  const ask = (lines: readonly string[]): string[] => {
    const said = tool('java', ['-cp', `${folder}:${libraries}`, 'Tink'], { input: `${lines.join('\n')}\n` });
    if (said?.ok !== true) throw new Error(`Tink has ended: ${said?.text}`);
    return said.text
      .trimEnd()
      .split('\n')
      .map((line) => Buffer.from(line, 'base64').toString());
  };

  const root = makeGooglePair();
  const contents = contentsOf(values.tokens);
  const point = base64(ownSpki.subarray(-POINT_BYTES));
  const made = ask(
    contents.map((content) => {
      const signer = makeGooglePair();
      const keys = [point, pkcs8(root.privateKey), pkcs8(signer.privateKey), signer.keyValue];
      return ['seal', base64(RECIPIENT), ...keys, base64(content)].join(' ');
    }),
  );
  for (const [n, token] of made.entries()) {
    const { pan } = JSON.parse(contents[n] as string).paymentMethodDetails;
    if (openedHere(token, root) !== pan) note('the gateway opens what Tink makes', token);
  }

  const question = (token: string) =>
    ['open', base64(RECIPIENT), pkcs8(own.privateKey), base64(googleRoots([root])), base64(token)].join(' ');
  const altered = Array.from({ length: values.altered }, (_, n) => alter(made[n % made.length] as string));
  const said = ask(altered.map(question));
  let refused = 0;
  for (const [n, token] of altered.entries()) {
    const isOpened = openedHere(token, root) !== undefined;
    if (!isOpened) refused += 1;
    if (isOpened && said[n] === '') note('the gateway refuses what Tink refuses', token);
  }

  const ours = Array.from({ length: values.tokens }, (_, n) =>
    makeGoogleToken({ recipientKey: ownSpki, recipient: RECIPIENT, root, messageId: `ours-${n}` }),
  );
  for (const [n, opened] of ask(ours.map((token) => question(JSON.stringify(token)))).entries())
    if (!opened.includes(`"ours-${n}"`)) note('Tink opens what our maker makes', JSON.stringify(ours[n]));
  return `${made.length} tokens of Tink opened, ${refused} of ${altered.length} altered ones refused, ${ours.length} of ours opened by Tink`;
}

function contentsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      messageExpiration: String(Date.now() + 600_000),
      messageId: `tink-${n}`,
      paymentMethod: 'CARD',
      paymentMethodDetails: {
        pan: random.pick(['4111111111111111', '5555555555554444', '378282246310005']),
        expirationMonth: 1 + random.below(12),
        expirationYear: 2030,
        authMethod: 'CRYPTOGRAM_3DS',
        cryptogram: base64(Buffer.alloc(20, n % 256)),
        eciIndicator: '05',
      },
    }),
  );
}

/** Another character somewhere: of the base64, of the JSON, or of its structure. */
function alter(token: string): string {
  const at = random.below(token.length);
  const other = random.pick([...'AZaz09+/="\\{}:,'].filter((character) => character !== token[at]));
  return token.slice(0, at) + other + token.slice(at + 1);
}

async function judgeByOpenssl(): Promise<string> {
  await needed('openssl', 'version');
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const openssl = (...args: readonly string[]): Said =>
    tool('openssl', args, { cwd: folder }) ?? { ok: false, text: 'openssl is gone' };
  const must = (...args: readonly string[]) => {
    const said = openssl(...args);
    if (!said.ok) throw new Error(`openssl ${args.join(' ')}: ${said.text}`);
  };

  // A chain of OpenSSL's own, with the marks that Apple uses.
  const authority = 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n';
  const issue = (name: string, by: string | undefined, extensions: string) => {
    must('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${name}.key`);
    must('req', '-new', '-key', `${name}.key`, '-subj', `/O=Example/CN=${name}`, '-out', `${name}.csr`);
    file(`${name}.ext`, extensions);
    const signer =
      by === undefined
        ? ['-signkey', `${name}.key`]
        : ['-CA', `${by}.pem`, '-CAkey', `${by}.key`, '-CAcreateserial'];
    must(
      'x509',
      '-req',
      '-sha256',
      '-days',
      '30',
      '-in',
      `${name}.csr`,
      ...signer,
      '-extfile',
      `${name}.ext`,
      '-out',
      `${name}.pem`,
    );
  };
  issue('root', undefined, authority);
  issue('intermediate', 'root', `${authority}1.2.840.113635.100.6.2.14=ASN1:NULL\n`);
  issue(
    'leaf',
    'intermediate',
    'basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\n1.2.840.113635.100.6.29=ASN1:NULL\n',
  );

  const rootOf = (pem: string) => new X509Certificate(pem);
  const key = (root: X509Certificate) => ({
    privateKey: own.privateKey,
    publicKeyHash: createHash('sha256').update(ownSpki).digest(),
    merchantHash: createHash('sha256').update(MERCHANT).digest(),
    roots: [root],
  });
  const opened = (token: AppleToken, root: X509Certificate) => {
    const read = readPayload('apple_pay', token);
    if (isWrong(read) || read.type !== 'apple_pay') return undefined;
    return refusedAsUndefined(() => openApplePay(read.payload, key(root), Date.now()).card.number.reveal());
  };

  const chain = makeAppleChain();
  file('ours.pem', chain.root.certificate);
  const root = rootOf(readFileSync(join(folder, 'root.pem'), 'utf8'));
  for (let n = 0; n < values.signatures; n += 1) {
    const token = makeAppleToken(chain, {
      merchantKey: ownSpki,
      merchantIdentifier: MERCHANT,
      applicationData: 'ab'.repeat(32),
    });
    file('signed', signedOf(token));
    file('ours.cms', Buffer.from(token.signature, 'base64'));
    const verify = ['cms', '-verify', '-binary', '-inform', 'DER', '-in', 'ours.cms', '-content', 'signed'];
    const said = openssl(...verify, '-CAfile', 'ours.pem', '-purpose', 'any', '-out', 'verified');
    if (!said.ok) note('OpenSSL believes our maker’s signatures', said.text);

    const [signer, others] = [
      ['-signer', 'leaf.pem', '-inkey', 'leaf.key'],
      ['-certfile', 'intermediate.pem'],
    ];
    const detached = ['-md', 'sha256', '-outform', 'DER', '-out', 'theirs.cms'];
    must('cms', '-sign', '-binary', '-in', 'signed', ...signer, ...others, ...detached);
    const signature = readFileSync(join(folder, 'theirs.cms')).toString('base64');
    if (opened({ ...token, signature }, root) !== '4111111111111111')
      note('the gateway believes OpenSSL’s signatures', signature);
    if (opened({ ...token, signature }, rootOf(chain.root.certificate)) !== undefined)
      note('the gateway believes no signature below another root', signature);
    const header = { ...token.header, transactionId: 'cd'.repeat(32) };
    if (opened({ ...token, header, signature }, root) !== undefined)
      note('the gateway believes no signature of something else', signature);
  }

  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = pair.publicKey.export({ type: 'spki', format: 'der' });
  file('request.pem', signingRequest(pair.privateKey, spki, MERCHANT));
  const request = openssl('req', '-verify', '-noout', '-subject', '-in', 'request.pem');
  if (!request.ok || !request.text.includes(MERCHANT))
    note('OpenSSL believes requests for certificates', request.text);
  return `${values.signatures} signatures of ours believed by OpenSSL, as many of OpenSSL’s by the gateway, 1 request`;
}

function signedOf({ data, header }: AppleToken): Buffer {
  return Buffer.concat([
    Buffer.from(header.ephemeralPublicKey, 'base64'),
    Buffer.from(data, 'base64'),
    Buffer.from(header.transactionId, 'hex'),
    Buffer.from(header.applicationData ?? '', 'hex'),
  ]);
}
