// Signing in to the console by an identity provider: a real one, in this process.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sessionsAgo } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type SignInDesk, signInDesk } from '../../testkit/sign-in-desk.js';

interface Account {
  email: string;
  email_verified: boolean;
  acr?: string;
  amr?: string[];
}

/** By what they are called at the provider. */
const ACCOUNTS: Record<string, Account> = {
  'subject-1': { email: 'ada@example.com', email_verified: true },
  'subject-2': { email: 'ada@example.com', email_verified: true },
  'subject-3': { email: 'grace@example.com', email_verified: false },
  'subject-4': { email: 'nobody@example.com', email_verified: true },
  'subject-5': { email: 'heidi@example.com', email_verified: true, acr: 'silver', amr: ['pwd', 'mfa'] },
};
const SECRET = 'a secret of the client';
let gateway: TestGateway;
/** Wants more of the provider. */
let strict: TestGateway;
let strictUrl: string;
let desk: SignInDesk;
let server: Server;
beforeAll(async () => {
  let provider: Provider | undefined;
  server = createServer((request, response) => void provider?.callback()(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const settings = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'console', OIDC_CLIENT_SECRET: SECRET };
  gateway = await testGateway({ settings });
  strict = await testGateway({
    shareWith: gateway,
    settings: { ...settings, OIDC_ACR: 'gold, silver', OIDC_AMR: 'mfa' },
  });
  strictUrl = strict.operatorsUrl.replace('127.0.0.1', 'localhost');
  desk = await signInDesk(gateway);
  provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'console',
        client_secret: SECRET,
        redirect_uris: [desk.url, strictUrl].map((url) => `${url}/console/api/sign-in/provider/callback`),
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['acr', 'amr'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    cookies: { keys: ['a key of the test'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...(ACCOUNTS[id] as Account) }) }),
  });
  // The provider’s forms know no classes or methods: the account of the test has them.
  for (const claim of ['acr', 'amr'] as const)
    Object.defineProperty(provider.AuthorizationCode.prototype, claim, {
      get(this: { accountId: string }) {
        return ACCOUNTS[this.accountId]?.[claim];
      },
      set: () => {},
    });
  await desk.add('ada@example.com');
  await desk.add('grace@example.com');
  await desk.add('heidi@example.com');
});
afterAll(async () => {
  await desk.close();
  await strict.close();
  await gateway.close();
  await new Promise((resolve) => server.close(resolve));
});

/** A browser: it keeps the cookies of each site, and goes where it is sent. */
function browser() {
  const jars = new Map<string, Map<string, string>>();
  const call = async (url: string, form?: Record<string, string>): Promise<Response> => {
    const jar = jars.get(new URL(url).host) ?? new Map<string, string>();
    jars.set(new URL(url).host, jar);
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ''] = set.split(';', 1);
      const at = pair.indexOf('=');
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(set)) jar.delete(pair.slice(0, at));
      else jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  };
  return {
    /** From the console to the provider and through its forms. Returns where the provider sends it to, without going there. */
    async identify(from: string, subject: string): Promise<string> {
      let url = from;
      for (let step = 0; step < 20; step += 1) {
        const response = await call(url);
        const location = response.headers.get('location');
        if (location === null) {
          const text = await response.text();
          const [, action = ''] = /action="([^"]+)"/.exec(text) ?? [];
          // Whoever signs in as another is asked to sign out as the one before.
          const hidden = [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
            ([, name, value]) => [name, value],
          );
          const typed = { login: subject, password: 'x', logout: 'yes' };
          const sent = await call(new URL(action, url).href, { ...typed, ...Object.fromEntries(hidden) });
          url = new URL(sent.headers.get('location') ?? '', url).href;
        } else url = new URL(location, url).href;
        if (url.startsWith(`${new URL(from).origin}/console/api/sign-in/provider/callback`)) return url;
      }
      throw new Error('the provider sends nobody back');
    },
    /** Where a page leads to by itself. */
    async goTo(url: string): Promise<string | undefined> {
      const response = await call(url);
      return /content="0;url=([^"]+)"/.exec(await response.text())?.[1];
    },
    session: async (at = desk.url) => (await call(`${at}/console/api/session`)).json(),
  };
}

const START = () => `${desk.url}/console/api/sign-in/provider`;

test('the provider’s answer → signed in as the operator with that name; next time found by the subject', async () => {
  expect((await desk.nobody.get('/sign-in')).body).toMatchObject({ provider: 'localhost' });
  const ada = browser();
  const callback = await ada.identify(START(), 'subject-1');
  expect(await ada.goTo(callback)).toBe('/');
  expect(await ada.session()).toMatchObject({
    operator: 'ada@example.com',
    method: 'provider',
    recent: true,
  });
  expect((await desk.entriesOf('ada@example.com')).map(({ action, detail }) => [action, detail])).toEqual([
    ['operator.enrolled', 'ada@example.com: provider'],
    ['operator.signed_in', 'ada@example.com: provider'],
  ]);
  // The same answer once more: the browser keeps nothing of it, and the provider has given the code once.
  expect(await ada.goTo(callback)).toBe('/sign-in?refused=provider');
  ACCOUNTS['subject-1'] = { email: 'renamed@example.com', email_verified: true };
  const again = browser();
  expect(await again.goTo(await again.identify(START(), 'subject-1'))).toBe('/');
  expect(await again.session()).toMatchObject({ operator: 'ada@example.com' });
});

test.each([
  ['another person under the address of one who is known', 'subject-2'],
  ['an address that the provider does not vouch for', 'subject-3'],
  ['nobody who is an operator', 'subject-4'],
  // catches(provider: an address that is not verified names nobody)
])('%s → refused, and no operator is made or changed', async (_, subject) => {
  const ada = browser();
  expect(await ada.goTo(await ada.identify(START(), 'subject-1'))).toBe('/');
  const operators = () => gateway.sql(`SELECT name, seal FROM operator ORDER BY name`);
  const before = await operators();
  const stranger = browser();
  expect(await stranger.goTo(await stranger.identify(START(), subject))).toBe('/sign-in?refused=provider');
  expect(await stranger.session()).toMatchObject({ error_code: 'not_signed_in' });
  expect(await operators()).toEqual(before);
});

test('the answer for one browser, opened in another → nobody is signed in there', async () => {
  const attacker = browser();
  const callback = await attacker.identify(START(), 'subject-1');
  const victim = browser();
  expect(await victim.goTo(callback)).toBe('/sign-in?refused=provider');
  // One who is on the way to the provider has another state.
  await victim.identify(START(), 'subject-1');
  expect(await victim.goTo(callback)).toBe('/sign-in?refused=provider');
  expect(await victim.session()).toMatchObject({ error_code: 'not_signed_in' });
});

test('proving identity again → the provider asks again; another person proves nothing', async () => {
  const ada = browser();
  await ada.goTo(await ada.identify(START(), 'subject-1'));
  const prove = `${desk.url}/console/api/re-authenticate/provider`;
  await sessionsAgo(gateway, 'ada@example.com', { proved: 6 });
  expect(await ada.goTo(await ada.identify(prove, 'subject-2'))).toBe('/sign-in?refused=provider');
  expect(await ada.session()).toMatchObject({ operator: 'ada@example.com', recent: false });
  expect(await ada.goTo(await ada.identify(prove, 'subject-1'))).toBe('/');
  expect(await ada.session()).toMatchObject({ recent: true });
});

const refusals = () =>
  gateway
    .logged()
    .split('\n')
    .concat(strict.logged().split('\n'))
    .filter((line) => line.includes('was not enough to sign in'))
    .map((line) => JSON.parse(line).because as string);

test('an address that is not verified → a line in the log says so', async () => {
  const grace = browser();
  await grace.goTo(await grace.identify(START(), 'subject-3'));
  expect(new Set(refusals())).toEqual(new Set(['the address in email is not verified (email_verified)']));
});

// catches(provider: nobody signs in less strongly than wanted)
test('less than acr and amr want → refused, and the log says what was missing; enough → signed in', async () => {
  const start = `${strictUrl}/console/api/sign-in/provider`;
  const heidi = browser();
  const came = async (account: Partial<Account>) => {
    ACCOUNTS['subject-5'] = { email: 'heidi@example.com', email_verified: true, ...account };
    return heidi.goTo(await heidi.identify(start, 'subject-5'));
  };
  const before = refusals().length;
  expect(await came({})).toBe('/sign-in?refused=provider');
  expect(await came({ acr: 'bronze', amr: ['mfa'] })).toBe('/sign-in?refused=provider');
  expect(await came({ acr: 'silver', amr: ['pwd'] })).toBe('/sign-in?refused=provider');
  expect(await came({ acr: 'gold' })).toBe('/sign-in?refused=provider');
  expect(await heidi.session(strictUrl)).toMatchObject({ error_code: 'not_signed_in' });
  expect(refusals().slice(before)).toEqual([
    'acr is absent, and TOLLGATE_OIDC_ACR wants gold or silver',
    'acr is "bronze", and TOLLGATE_OIDC_ACR wants gold or silver',
    'amr is ["pwd"], and TOLLGATE_OIDC_AMR wants mfa',
    'amr is absent, and TOLLGATE_OIDC_AMR wants mfa',
  ]);
  expect(await came({ acr: 'silver', amr: ['pwd', 'mfa'] })).toBe('/');
  expect(await heidi.session(strictUrl)).toMatchObject({ operator: 'heidi@example.com', method: 'provider' });
});
