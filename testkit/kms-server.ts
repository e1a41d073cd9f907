// A server with AWS KMS's protocol, as documented: Encrypt and Decrypt with an encryption context, several keys and an alias,
// and requests admitted by signature alone, which it computes itself.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface KmsServer {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken: string;
  };
  /** The ARN that the alias leads to. */
  key(): string;
  /** Another key behind the alias; the one before goes on decrypting. */
  replaceKey(): void;
  /** Answers everything with this from now on. */
  break(how: 'error' | 'garbage' | 'silence'): void;
  close(): Promise<void>;
}

const ALIAS = 'alias/tollgate';
const FIVE_MINUTES_MS = 300_000;

interface Content {
  readonly KeyId?: string;
  readonly Plaintext?: string;
  readonly CiphertextBlob?: string;
  readonly EncryptionContext?: Readonly<Record<string, string>>;
}

type Reply = readonly [status: number, body: Readonly<Record<string, unknown>>];
const refused = (kind: string): Reply => [400, { __type: `com.amazonaws.kms#${kind}`, message: 'no' }];

export async function kmsServer(): Promise<KmsServer> {
  const region = 'ap-southeast-2';
  const credentials = {
    accessKeyId: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('base64'),
    sessionToken: randomBytes(40).toString('base64'),
  };
  const keys = new Map<string, Buffer>();
  let current = '';
  const replaceKey = () => {
    current = `arn:aws:kms:${region}:111122223333:key/${randomBytes(16).toString('hex')}`;
    keys.set(current, randomBytes(32));
  };
  replaceKey();
  let broken: Parameters<KmsServer['break']>[0] | undefined;

  const contextOf = (content: Content) =>
    Buffer.from(JSON.stringify(Object.entries(content.EncryptionContext ?? {}).sort()));

  const encrypt = (content: Content): Reply => {
    const arn = content.KeyId === ALIAS ? current : (content.KeyId ?? '');
    const key = keys.get(arn);
    if (key === undefined) return refused('NotFoundException');
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, iv);
    cipher.setAAD(contextOf(content));
    const sealed = [cipher.update(Buffer.from(content.Plaintext ?? '', 'base64')), cipher.final()];
    // The key's name is part of what it gives out, so that it can find it again by itself.
    const blob = Buffer.concat([Buffer.from(`${arn}\n`), iv, ...sealed, cipher.getAuthTag()]);
    return [
      200,
      { CiphertextBlob: blob.toString('base64'), KeyId: arn, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' },
    ];
  };

  const decrypt = (content: Content): Reply => {
    const blob = Buffer.from(content.CiphertextBlob ?? '', 'base64');
    const end = blob.indexOf('\n');
    const arn = blob.subarray(0, Math.max(0, end)).toString();
    const key = keys.get(arn);
    if (key === undefined) return refused('InvalidCiphertextException');
    if (content.KeyId !== undefined && content.KeyId !== arn) return refused('IncorrectKeyException');
    try {
      const sealed = blob.subarray(end + 1);
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
      decipher.setAAD(contextOf(content));
      decipher.setAuthTag(sealed.subarray(-16));
      const plain = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
      return [200, { Plaintext: plain.toString('base64'), KeyId: arn }];
    } catch {
      return refused('InvalidCiphertextException');
    }
  };

  const answer = async (request: IncomingMessage): Promise<Reply> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (!isSigned(request, body, credentials, region)) return refused('IncompleteSignatureException');
    const content = JSON.parse(body.toString()) as Content;
    switch (request.headers['x-amz-target']) {
      case 'TrentService.Encrypt':
        return encrypt(content);
      case 'TrentService.Decrypt':
        return decrypt(content);
      default:
        return refused('UnknownOperationException');
    }
  };

  const server = createServer(async (request, response) => {
    if (broken === 'silence') return;
    if (broken === 'garbage') return void response.end('<html>not KMS</html>');
    const [status, body] =
      broken === 'error' ? ([500, { __type: 'KMSInternalException' }] as const) : await answer(request);
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region,
    credentials,
    key: () => current,
    replaceKey,
    break: (how) => {
      broken = how;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** By the documentation of version 4 signatures, and by nothing of the gateway's. */
function isSigned(
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  { accessKeyId, secretAccessKey, sessionToken }: KmsServer['credentials'],
  region: string,
): boolean {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/kms\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (given === null) return false;
  const [, id, day, where, names, signature] = given as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const date = String(headers['x-amz-date']);
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (id !== accessKeyId || where !== region || !date.startsWith(day)) return false;
  if (!(Math.abs(Date.now() - at) < FIVE_MINUTES_MS)) return false;
  const wanted = ['host', 'x-amz-date', 'x-amz-target', 'x-amz-security-token', 'content-type'];
  const list = names.split(';');
  if (!wanted.every((name) => list.includes(name)) || list.join() !== [...list].sort().join()) return false;
  if (headers['x-amz-security-token'] !== sessionToken) return false;
  const digest = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
  const lines = list.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = `${method}\n${url}\n\n${lines}\n${names}\n${digest(body)}`;
  const text = `AWS4-HMAC-SHA256\n${date}\n${day}/${region}/kms/aws4_request\n${digest(canonical)}`;
  let key = Buffer.from(`AWS4${secretAccessKey}`);
  for (const part of [day, region, 'kms', 'aws4_request'])
    key = createHmac('sha256', key).update(part).digest();
  const expected = createHmac('sha256', key).update(text).digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
}
