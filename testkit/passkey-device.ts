// A device that makes passkeys and signs with them, as browsers and their authenticators do: for tests without a browser.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface PasskeyDevice {
  /** For how many passkeys it has signed; some devices do not count. */
  counter: number;
  /** What `navigator.credentials.create` would return, as JSON. */
  create(options: { challenge: string; rp: { id?: string }; user: { id: string } }, origin: string): object;
  /** What `navigator.credentials.get` would return. */
  get(options: { challenge: string; rpId?: string }, origin: string): object;
}

const VERIFIED = 0x01 | 0x04;
const WITH_KEY = 0x40;

export function passkeyDevice(flags = VERIFIED): PasskeyDevice {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const clientData = (type: string, challenge: string, origin: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const head = (rpId: string, bits: number, counter: number) => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([bits]), count]);
  };
  const encoded = (bytes: Buffer) => bytes.toString('base64url');
  const common = { id: encoded(id), rawId: encoded(id), type: 'public-key', clientExtensionResults: {} };
  const device: PasskeyDevice = {
    counter: 0,
    create({ challenge, rp }, origin) {
      // COSE: EC2, ES256, P-256.
      const key = Buffer.concat([
        Buffer.from([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32]),
        Buffer.from(x, 'base64url'),
        Buffer.from([0x22, 0x58, 32]),
        Buffer.from(y, 'base64url'),
      ]);
      const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key]);
      const data = Buffer.concat([head(rp.id ?? '', flags | WITH_KEY, device.counter), credential]);
      const attestation = Buffer.concat([
        Buffer.from([0xa3]),
        text('fmt'),
        text('none'),
        text('attStmt'),
        Buffer.from([0xa0]),
        text('authData'),
        Buffer.from([0x59, data.length >> 8, data.length & 0xff]),
        data,
      ]);
      const response = {
        clientDataJSON: encoded(clientData('webauthn.create', challenge, origin)),
        attestationObject: encoded(attestation),
        transports: ['internal'],
      };
      return { ...common, response };
    },
    get({ challenge, rpId = '' }, origin) {
      const client = clientData('webauthn.get', challenge, origin);
      const data = head(rpId, flags, device.counter);
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
      const response = {
        clientDataJSON: encoded(client),
        authenticatorData: encoded(data),
        signature: encoded(sign('sha256', signed, privateKey)),
        userHandle: encoded(Buffer.from('handle')),
      };
      return { ...common, response };
    },
  };
  return device;
}

/** A short text in CBOR. */
function text(words: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + words.length]), Buffer.from(words)]);
}
