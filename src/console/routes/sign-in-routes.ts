// Routes for whoever is not signed in yet: by a link, once; then by a passkey, or by a password and a code.
import { randomBytes } from 'node:crypto';
import { type Static, Type } from '../../api/typebox.js';
import { databaseTime, openSession } from '../../operators/sessions.js';
import {
  type AuthenticationResponseJSON,
  authenticationOptions,
  challengeIn,
  signedBy,
  takesPasskeys,
} from '../../operators/sign-in/passkeys.js';
import { TooManyPasswords } from '../../operators/sign-in/password.js';
import {
  findByPasskey,
  journalFailure,
  type PasswordMeans,
  signedIn,
  signInByPasskey,
  signInByPassword,
  useChallenge,
  useLink,
  type Visitor,
} from '../../operators/sign-in/sign-in.js';
import { Refusal } from '../../values/refusal.js';
import type { LinkAnswer, PasskeyRequest, SignInAnswer } from '../interface.js';
import { ConsoleProblem } from '../problems.js';
import { type OpenCall, openRoute, type Route } from '../route.js';

const NAME = Type.String({ minLength: 1, maxLength: 64 });
const TOKEN = Type.String({ minLength: 1, maxLength: 100 });
const ENCODED = Type.String({ minLength: 1, maxLength: 4_000 });

export const PASSWORD_AND_CODE = Type.Object({
  password: Type.String({ minLength: 1, maxLength: 200 }),
  code: Type.String({ minLength: 6, maxLength: 10 }),
});

/** What a browser says of a passkey that has signed; nothing else of it is looked at. */
export const SIGNED = Type.Object({
  response: Type.Object({
    id: ENCODED,
    rawId: ENCODED,
    type: Type.Literal('public-key'),
    clientExtensionResults: Type.Optional(Type.Object({})),
    authenticatorAttachment: Type.Optional(Type.Unknown()),
    response: Type.Object({
      clientDataJSON: ENCODED,
      authenticatorData: ENCODED,
      signature: ENCODED,
      userHandle: Type.Optional(Type.Unknown()),
    }),
  }),
});

export const SIGN_IN_ROUTES: readonly Route[] = [
  openRoute(
    { method: 'GET', path: '/sign-in', for: 'anyone' },
    ({ parts, origin }): SignInAnswer => ({
      version: parts.version,
      demo: parts.demo,
      passkeys: takesPasskeys(origin),
      provider: parts.identityProvider?.name ?? null,
    }),
  ),
  openRoute(
    { method: 'POST', path: '/sign-in/link', for: 'anyone', body: Type.Object({ name: NAME, token: TOKEN }) },
    async (call): Promise<LinkAnswer> => {
      const { database, parts, body, address, agent, cookie, device } = call;
      const operator = await useLink(database, parts.key, body.name, body.token, {
        device: device === undefined ? undefined : parts.key.tagOfToken('device', device),
        signedIn: call.session?.operator.name,
      });
      if (operator.isDemo && parts.demo) {
        cookie.set(await signedIn(database, parts.key, operator, 'demo', visitorOf(call)));
        return { stage: 'signed_in' };
      }
      const session = {
        operator: operator.name,
        stage: 'enrolling',
        method: 'link',
        address,
        agent,
      } as const;
      cookie.set(await openSession(database, parts.key, session));
      return { stage: 'enrolling' };
    },
  ),
  openRoute(
    {
      method: 'POST',
      path: '/sign-in/password',
      for: 'anyone',
      body: Type.Object({ name: NAME, ...PASSWORD_AND_CODE.properties }),
    },
    async (call): Promise<void> => {
      const { database, body, cookie } = call;
      const means = passwordMeansOf(call);
      const visitor = visitorOf(call);
      cookie.set(await inTurn(() => signInByPassword(database, means, body.name, body, visitor)));
    },
  ),
  openRoute(
    { method: 'POST', path: '/sign-in/passkey/options', for: 'anyone' },
    async ({ database, parts, origin }): Promise<PasskeyRequest> => {
      const challenge = parts.challenges.make(SIGNING_IN, await databaseTime(database));
      return authenticationOptions(origin, challenge);
    },
  ),
  openRoute(
    { method: 'POST', path: '/sign-in/passkey', for: 'anyone', body: SIGNED },
    async (call): Promise<void> => {
      const { database, parts, body, cookie } = call;
      const owner = await findByPasskey(database, parts.key, body.response.id);
      if (owner === undefined) throw new Refusal('passkey_refused', undefined);
      try {
        const { passkey, counter } = owner;
        const signed = await answered(call, SIGNING_IN, body.response, passkey, counter);
        cookie.set(await signInByPasskey(database, parts.key, owner, signed, visitorOf(call)));
      } catch (error) {
        if (error instanceof Refusal && error.code !== 'operator_disabled')
          await journalFailure(database, owner.operator, 'passkey');
        throw error;
      }
    },
  ),
];

const SIGNING_IN = { kind: 'sign-in', whom: '' } as const;

/** How often the passkey has signed by now. Refuses what is no answer to a challenge of ours, or answers one again. */
export async function answered(
  { database, parts, origin }: OpenCall,
  purpose: Parameters<typeof parts.challenges.endOf>[1],
  response: Static<typeof SIGNED>['response'],
  passkey: Parameters<typeof signedBy>[3],
  counter: number,
): Promise<number> {
  const challenge = challengeIn(response.response.clientDataJSON);
  const untilMs = parts.challenges.endOf(challenge, purpose, await databaseTime(database));
  const signed =
    untilMs && (await signedBy(response as AuthenticationResponseJSON, origin, challenge, passkey, counter));
  if (untilMs === undefined || signed === undefined) throw new Refusal('passkey_refused', undefined);
  await useChallenge(database, parts.key, challenge, untilMs);
  return signed;
}

export function passwordMeansOf({ parts: { key, passwords, totp, log } }: OpenCall): PasswordMeans {
  const onLocked = (from: string) =>
    log.error(
      { from: from.startsWith('device:') ? 'a known device' : from },
      'ten wrong passwords under one name: no password is accepted under it for half an hour',
    );
  return { key, passwords, totp, onLocked };
}

/** Makes the browser known, if it is not yet: it keeps what it is known by when it has signed in. */
export function visitorOf({ address, agent, device, parts, cookie }: OpenCall): Visitor {
  const known = device ?? randomBytes(16).toString('base64url');
  cookie.setDevice(known);
  return { address, agent, device: parts.key.tagOfToken('device', known) };
}

/** Passwords are looked at one after the other. */
export async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof TooManyPasswords ? new ConsoleProblem('too_many_sign_ins', [], 5) : error;
  }
}
