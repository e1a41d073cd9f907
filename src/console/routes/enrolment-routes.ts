// Routes by which operators set what they sign in by, and prove again who they are.
import { createHash } from 'node:crypto';
import { type Static, Type } from '../../api/typebox.js';
import type { Passkey } from '../../operators/operator.js';
import { databaseTime, proveSession, type Session } from '../../operators/sessions.js';
import { addPasskey, enrol, listPasskeys, removePasskey } from '../../operators/sign-in/enrolment.js';
import { checkNewPassword, LONGEST_PASSWORD } from '../../operators/sign-in/new-password.js';
import {
  authenticationOptions,
  challengeIn,
  registered,
  registrationOptions,
} from '../../operators/sign-in/passkeys.js';
import {
  findByPasskey,
  proveByPassword,
  useChallenge,
  useCode,
  usePasskey,
} from '../../operators/sign-in/sign-in.js';
import { base32, makeTotpSecret, stepOf, totpUri } from '../../operators/sign-in/totp.js';
import { Refusal, refuse } from '../../values/refusal.js';
import type { NewCodes, PasskeyCreation, PasskeyRequest } from '../interface.js';
import { type OpenCall, openRoute, type Route, route } from '../route.js';
import { answered, inTurn, PASSWORD_AND_CODE, passwordMeansOf, SIGNED, visitorOf } from './sign-in-routes.js';

const ENCODED = Type.String({ minLength: 1, maxLength: 8_000 });

/** What a browser says of a passkey that it has made. */
const MADE = Type.Object({
  label: Type.String({ minLength: 1, maxLength: 60 }),
  response: Type.Object({
    id: ENCODED,
    rawId: ENCODED,
    type: Type.Literal('public-key'),
    clientExtensionResults: Type.Optional(Type.Object({})),
    authenticatorAttachment: Type.Optional(Type.Unknown()),
    response: Type.Object({
      clientDataJSON: ENCODED,
      attestationObject: ENCODED,
      authenticatorData: Type.Optional(ENCODED),
      publicKey: Type.Optional(ENCODED),
      publicKeyAlgorithm: Type.Optional(Type.Number()),
      transports: Type.Optional(Type.Array(Type.String({ maxLength: 40 }), { maxItems: 10 })),
    }),
  }),
});

export const ENROLMENT_ROUTES: readonly Route[] = [
  openRoute({ method: 'POST', path: '/enrol/passkey/options', for: 'enrolling' }, (call) =>
    creation(call, call.session as Session),
  ),
  openRoute(
    { method: 'POST', path: '/enrol/passkey', for: 'enrolling', body: MADE },
    async (call): Promise<void> => {
      const { database, parts, cookie } = call;
      const session = call.session as Session;
      const passkeys = [await made(call, session, call.body)];
      cookie.set(await enrol(database, parts.key, session, { passkeys }, 'passkey', visitorOf(call)));
    },
  ),
  openRoute({ method: 'POST', path: '/enrol/codes', for: 'enrolling' }, ({ session, parts }): NewCodes => {
    const { name } = (session as Session).operator;
    const secret = makeTotpSecret();
    // Kept by the browser until a code has shown that an app has it, too.
    const sealed = parts.totp.seal(secret, name).toString('base64url');
    return { sealed, secret: base32(secret), uri: totpUri(secret, name) };
  }),
  openRoute(
    {
      method: 'POST',
      path: '/enrol/password',
      for: 'enrolling',
      body: Type.Object({
        password: Type.String({ minLength: 1, maxLength: LONGEST_PASSWORD }),
        sealed: Type.String({ minLength: 1, maxLength: 200 }),
        code: Type.String({ minLength: 6, maxLength: 10 }),
      }),
    },
    async (call): Promise<void> => {
      const { database, parts, body, cookie } = call;
      const session = call.session as Session;
      const { name } = session.operator;
      const host = new URL(call.origin).hostname;
      await inTurn(() => checkNewPassword(database, parts.passwords, session.operator, body.password, host));
      const totp = Buffer.from(body.sealed, 'base64url');
      const secret = parts.totp.open(totp, name);
      const step = secret && stepOf(secret, body.code, await databaseTime(database));
      if (step === undefined || !(await useCode(database, name, step))) refuse('code_refused');
      const password = await inTurn(() => parts.passwords.hash(body.password));
      cookie.set(await enrol(database, parts.key, session, { password, totp }, 'password', visitorOf(call)));
    },
  ),
  route(
    { method: 'POST', path: '/re-authenticate/passkey/options', role: 'viewer', scope: 'organisation' },
    async ({ database, parts, origin, session }): Promise<PasskeyRequest> => {
      const challenge = parts.challenges.make(provingBy(session), await databaseTime(database));
      return authenticationOptions(origin, challenge, session.operator.passkeys);
    },
  ),
  route(
    {
      method: 'POST',
      path: '/re-authenticate/passkey',
      role: 'viewer',
      scope: 'organisation',
      body: SIGNED,
    },
    async (call): Promise<void> => {
      const { database, parts, body, actor, operator, session } = call;
      const owner = await findByPasskey(database, parts.key, body.response.id);
      if (owner?.operator.name !== operator.name) throw new Refusal('passkey_refused', undefined);
      const { passkey, counter } = owner;
      const signed = await answered(call, provingBy(session), body.response, passkey, counter);
      await usePasskey(database, operator.name, passkey.id, signed);
      await proveSession(database, parts.key, actor, session, 'passkey');
    },
  ),
  route(
    {
      method: 'POST',
      path: '/re-authenticate/password',
      role: 'viewer',
      scope: 'organisation',
      body: PASSWORD_AND_CODE,
    },
    async (call): Promise<void> => {
      const { database, parts, body, actor, session } = call;
      const means = passwordMeansOf(call);
      await inTurn(() => proveByPassword(database, means, session, body, visitorOf(call)));
      await proveSession(database, parts.key, actor, session, 'password');
    },
  ),
  route({ method: 'GET', path: '/passkeys', role: 'viewer', scope: 'organisation' }, ({ session }) =>
    listPasskeys(session.operator),
  ),
  route(
    { method: 'POST', path: '/passkeys/options', role: 'viewer', scope: 'organisation', recent: true },
    (call) => creation(call, call.session),
  ),
  route(
    { method: 'POST', path: '/passkeys', role: 'viewer', scope: 'organisation', recent: true, body: MADE },
    async (call) => {
      const passkey = await made(call, call.session, call.body);
      return addPasskey(call.database, call.parts.key, call.operator.name, passkey);
    },
  ),
  route(
    { method: 'POST', path: '/passkeys/:id/remove', role: 'viewer', scope: 'organisation', recent: true },
    ({ database, parts, operator, params }) => removePasskey(database, parts.key, operator.name, params.id),
  ),
];

const provingBy = ({ tag }: Session) => ({ kind: 'prove', whom: tag.toString('hex') }) as const;
const enrollingBy = ({ tag }: Session) => ({ kind: 'enrol', whom: tag.toString('hex') }) as const;

async function creation({ database, parts, origin }: OpenCall, session: Session): Promise<PasskeyCreation> {
  const { name, passkeys } = session.operator;
  const challenge = parts.challenges.make(enrollingBy(session), await databaseTime(database));
  // A name that says nothing, and is the same for all passkeys of the operator.
  const handle = createHash('sha256').update(parts.key.tagOfToken('device', name)).digest();
  return registrationOptions(origin, challenge, { name, handle, passkeys });
}

/** Refuses what is no passkey that was made for this session. */
async function made(
  { database, parts, origin }: OpenCall,
  session: Session,
  { label, response }: Static<typeof MADE>,
): Promise<Passkey> {
  const nowMs = await databaseTime(database);
  const challenge = challengeIn(response.response.clientDataJSON);
  const untilMs = parts.challenges.endOf(challenge, enrollingBy(session), nowMs);
  const given = { ...response, clientExtensionResults: {} } as Parameters<typeof registered>[0];
  const passkey = untilMs && (await registered(given, origin, challenge, { label, addedMs: nowMs }));
  if (untilMs === undefined || !passkey) refuse('passkey_refused');
  await useChallenge(database, parts.key, challenge, untilMs);
  return passkey;
}
