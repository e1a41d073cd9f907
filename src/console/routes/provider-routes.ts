// Routes by which the browser goes to the identity provider, and comes back.
import { databaseTime, findSessionByTag, proveSession } from '../../operators/sessions.js';
import type { IdentityProvider } from '../../operators/sign-in/provider.js';
import { ProviderUnavailable } from '../../operators/sign-in/provider-unavailable.js';
import { isSubjectOf, journalFailure, signInByProvider } from '../../operators/sign-in/sign-in.js';
import { Refusal } from '../../values/refusal.js';
import { ConsoleProblem } from '../problems.js';
import { Onward, type OpenCall, openRoute, Redirect, type Route, route } from '../route.js';
import { visitorOf } from './sign-in-routes.js';

const CALLBACK = '/console/api/sign-in/provider/callback';

export const PROVIDER_ROUTES: readonly Route[] = [
  openRoute({ method: 'GET', path: '/sign-in/provider', for: 'anyone' }, (call) => away(call)),
  route({ method: 'GET', path: '/re-authenticate/provider', role: 'viewer', scope: 'organisation' }, (call) =>
    away(call, call.session.tag.toString('hex')),
  ),
  // The provider's page sends the browser here, so that it comes from elsewhere, and without the cookie of a session.
  openRoute(
    { method: 'GET', path: '/sign-in/provider/callback', for: 'anyone', fromElsewhere: true },
    async (call) => {
      call.cookie.clearKept();
      try {
        await back(call);
      } catch (error) {
        if (error instanceof Refusal && error.code === 'operator_disabled')
          return new Onward('/sign-in?refused=disabled');
        if (error instanceof Refusal || error instanceof ConsoleProblem)
          return new Onward('/sign-in?refused=provider');
        throw error;
      }
      // From a page of its own: a cookie that is sent to nobody's link but the console's is not sent before.
      return new Onward('/');
    },
  ),
];

async function away(call: OpenCall, session?: string): Promise<Redirect> {
  const provider = providerOf(call);
  const nowMs = await databaseTime(call.database);
  const { url, kept } = await reached(() => provider.go(`${call.origin}${CALLBACK}`, nowMs, session));
  call.cookie.keep(kept);
  return new Redirect(url);
}

async function back(call: OpenCall): Promise<void> {
  const { database, parts, origin, query, kept, cookie } = call;
  const provider = providerOf(call);
  const cameTo = `${origin}${CALLBACK}?${query}`;
  const nowMs = await databaseTime(database);
  const found = await reached(() => provider.comeBack(cameTo, kept ?? '', nowMs));
  if (found === undefined) throw new Refusal('provider_refused', undefined);
  const refused = () =>
    parts.log.warn({ because: found.because }, 'the identity provider’s word was not enough to sign in');
  if (found.subject === undefined) {
    refused();
    await journalFailure(database, undefined, 'provider');
    throw new Refusal('provider_refused', undefined);
  }
  if (found.session === undefined) {
    const visitor = visitorOf(call);
    cookie.set(
      await signInByProvider(database, parts.key, found, visitor).catch((error: unknown) => {
        if (found.because !== undefined) refused();
        throw error;
      }),
    );
    return;
  }
  const session = await findSessionByTag(
    database,
    parts.key,
    Buffer.from(found.session, 'hex'),
    parts.settings.sessionIdleMs,
  );
  if (session === undefined) throw new ConsoleProblem('not_signed_in');
  if (!isSubjectOf(session.operator, found.subject)) {
    await journalFailure(database, session.operator, 'provider');
    throw new Refusal('provider_refused', undefined);
  }
  await proveSession(database, parts.key, `operator:${session.operator.name}`, session, 'provider');
}

function providerOf({ parts }: OpenCall): IdentityProvider {
  if (parts.identityProvider === undefined) throw new ConsoleProblem('route_not_found');
  return parts.identityProvider;
}

async function reached<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderUnavailable ? new ConsoleProblem('provider_unavailable', [], 5) : error;
  }
}
