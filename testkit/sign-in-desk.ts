// Operators of a test who sign in to the console like people: by a link, then by a passkey, or by a password and a code.
import { expect } from 'vitest';
import { addOperator, linkOperator } from '../src/operators/operators.js';
import { codeAt } from '../src/operators/sign-in/totp.js';
import { operatorsDatabase } from './cast.js';
import { type ConsoleAnswer, type ConsoleClient, consoleClient } from './console.js';
import { credentialKeyOf, type TestGateway } from './gateway.js';
import { type PasskeyDevice, passkeyDevice } from './passkey-device.js';

export const PASSWORD = 'correct horse battery staple';

export interface Link {
  readonly name: string;
  readonly token: string;
}

export function partsOf(link: string): Link {
  const [name = '', token = ''] = new URL(link).hash.slice(1).split(':');
  return { name: decodeURIComponent(name), token };
}

/** What an authenticator app shows: each code once, a second one in the same half minute being that of the next. */
export function codesOf(base32: string) {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...base32].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0'));
  const secret = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  let last = 0;
  return {
    next: () => {
      last = Math.max(last + 1, Math.floor(Date.now() / 30_000));
      return codeAt(secret, last);
    },
    again: () => codeAt(secret, last),
  };
}

/** Close it before the gateway. */
export async function signInDesk(gateway: TestGateway) {
  const database = operatorsDatabase(gateway);
  await credentialKeyOf(database, gateway.settings);
  const key = gateway.credentialKey;
  // Passkeys belong to a name, and not to an address.
  const url = gateway.operatorsUrl.replace('127.0.0.1', 'localhost');
  const nobody = consoleClient(url);

  /** A new administrator, and the name and the token of the link. */
  const add = async (name: string): Promise<Link> =>
    partsOf((await addOperator(database, 'operator:test', key, url, name, { role: 'administrator' })).link);
  const linkAgain = async (name: string): Promise<Link> =>
    partsOf((await linkOperator(database, 'operator:test', key, url, name)).link);

  /** A client with the cookies that an answer has set. */
  const withCookies = ({ headers }: ConsoleAnswer, before = ''): ConsoleClient => {
    const cookies = new Map(before.split('; ').map((pair) => pair.split('=') as [string, string]));
    for (const set of headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';', 1)[0] as string).split('=');
      cookies.set(name, value);
    }
    return consoleClient(url, [...cookies].map((pair) => pair.join('=')).join('; '));
  };

  const opened = async (link: Link): Promise<ConsoleClient> => {
    const answer = await nobody.post('/sign-in/link', link);
    expect([answer.status, answer.body]).toEqual([200, { stage: 'enrolling' }]);
    return withCookies(answer);
  };

  /** By a link. The answer, and how the operator signs in from then on. */
  const setPassword = async (link: Link, password: string) => {
    const enrolling = await opened(link);
    const { sealed, secret } = (await enrolling.post('/enrol/codes')).body;
    const codes = codesOf(secret);
    const answer = await enrolling.post('/enrol/password', { password, sealed, code: codes.next() });
    return { answer, codes, operator: withCookies(answer, enrolling.cookie) };
  };

  /** A new operator who has set a password. */
  const withPassword = async (name: string) => {
    const { answer, ...set } = await setPassword(await add(name), PASSWORD);
    expect(answer.status).toBe(204);
    return set;
  };

  const withPasskey = async (name: string, device: PasskeyDevice = passkeyDevice()) => {
    const enrolling = await opened(await add(name));
    const options = (await enrolling.post('/enrol/passkey/options')).body;
    const body = { label: 'a device', response: device.create(options, url) };
    const answer = await enrolling.post('/enrol/passkey', body);
    return { device, enrolling, answer, operator: withCookies(answer, enrolling.cookie) };
  };

  const signInBy = async (device: PasskeyDevice, origin = url): Promise<ConsoleAnswer> => {
    const { body: options } = await nobody.post('/sign-in/passkey/options');
    return nobody.post('/sign-in/passkey', { response: device.get(options, origin) });
  };

  /** Of the journal. */
  const entriesOf = (name: string) =>
    gateway.sql(`SELECT action, detail, address FROM journal WHERE actor = $1 ORDER BY id`, [
      `operator:${name}`,
    ]);

  await add('first');
  return {
    database,
    url,
    nobody,
    add,
    linkAgain,
    withCookies,
    opened,
    setPassword,
    withPassword,
    withPasskey,
    signInBy,
    entriesOf,
    close: () => database.close(),
  };
}

export type SignInDesk = Awaited<ReturnType<typeof signInDesk>>;
