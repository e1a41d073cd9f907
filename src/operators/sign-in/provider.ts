// An identity provider (OpenID Connect): where operators are sent to say who they are, and what it says of them. The code flow with PKCE,
// a state and a nonce; what belongs together is kept sealed in the browser meanwhile, and nothing is stored.
import * as client from 'openid-client';
import type { CredentialKey } from '../../organisations/users/credentials.js';
import { decrypt, encrypt } from '../../values/aes-gcm.js';
import { isLoopback } from '../../values/network.js';
import { ProviderUnavailable } from './provider-unavailable.js';

export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** By which operators are found whom it has not named before: it holds the name of an operator. */
  readonly claim: string;
  /** How strongly somebody must have signed in there: one of these classes (`acr`), and all of these methods (`amr`). */
  readonly acr: readonly string[];
  readonly amr: readonly string[];
}

/** Somebody whom it has not asked for enough. */
export interface TooWeak {
  readonly subject: undefined;
  /** For the log. */
  readonly because: string;
}

/** What is kept in the browser between going and coming back. */
interface Going {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly endMs: number;
  /** Of whoever is signed in, and proves who they are. */
  readonly session?: string;
}

export interface Identified {
  /** For good: the provider, and what it calls this person. */
  readonly subject: string;
  /** Undefined where it does not say, or does not vouch for it; then `because` says why, for the log. */
  readonly name: string | undefined;
  readonly because: string | undefined;
  /** As it was given to `go`. */
  readonly session: string | undefined;
}

const WITHIN_MS = 10 * 60_000;
const TIMEOUT_S = 5;
const KNOWN_FOR_MS = 10 * 60_000;

type Claims = Readonly<Record<string, unknown>>;

/** For the log, where it must not be long. */
function inWords(claim: unknown): string {
  return claim === undefined ? 'absent' : JSON.stringify(claim).slice(0, 100);
}

export class IdentityProvider {
  readonly #key: Buffer;
  #configured: { readonly at: number; readonly configuration: client.Configuration } | undefined;

  constructor(
    private readonly settings: ProviderSettings,
    key: CredentialKey,
  ) {
    this.#key = key.keyFor('ways to an identity provider');
  }

  /** For people. */
  get name(): string {
    return new URL(this.settings.issuer).hostname;
  }

  /** Where the browser goes, and what it keeps meanwhile. `session`: it is to ask again, whoever was asked before. */
  async go(
    redirectUri: string,
    nowMs: number,
    session?: string,
  ): Promise<{ readonly url: string; readonly kept: string }> {
    const configuration = await this.#configuration(nowMs);
    const { acr } = this.settings;
    const verifier = client.randomPKCECodeVerifier();
    const going: Going = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier,
      endMs: nowMs + WITHIN_MS,
      ...(session !== undefined && { session }),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: going.state,
      nonce: going.nonce,
      ...(acr.length > 0 && { acr_values: acr.join(' ') }),
      ...(session !== undefined && { prompt: 'login', max_age: String(WITHIN_MS / 1_000) }),
    });
    return { url: url.href, kept: this.#seal(going) };
  }

  /** Undefined where it did not say who it is, or was not asked by this browser. */
  async comeBack(cameTo: string, kept: string, nowMs: number): Promise<Identified | TooWeak | undefined> {
    const going = this.#open(kept);
    if (going === undefined || going.endMs < nowMs) return undefined;
    const configuration = await this.#configuration(nowMs);
    try {
      const tokens = await client.authorizationCodeGrant(configuration, new URL(cameTo), {
        pkceCodeVerifier: going.verifier,
        expectedState: going.state,
        expectedNonce: going.nonce,
        idTokenExpected: true,
        ...(going.session !== undefined && { maxAge: WITHIN_MS / 1_000 }),
      });
      const claims = tokens.claims();
      if (claims === undefined) return undefined;
      const because = this.#weaknessOf(claims);
      // guard(provider: nobody signs in less strongly than wanted): if (because !== undefined) return { subject: undefined, because }; ⇒
      if (because !== undefined) return { subject: undefined, because };
      const { issuer } = configuration.serverMetadata();
      return { subject: `${issuer} ${claims.sub}`, ...this.#nameIn(claims), session: going.session };
    } catch {
      return undefined;
    }
  }

  #weaknessOf({ acr, amr }: Claims): string | undefined {
    const wanted = this.settings;
    if (wanted.acr.length > 0 && !(typeof acr === 'string' && wanted.acr.includes(acr)))
      return `acr is ${inWords(acr)}, and TOLLGATE_OIDC_ACR wants ${wanted.acr.join(' or ')}`;
    const methods: readonly unknown[] = Array.isArray(amr) ? amr : [];
    if (!wanted.amr.every((method) => methods.includes(method)))
      return `amr is ${inWords(amr)}, and TOLLGATE_OIDC_AMR wants ${wanted.amr.join(' and ')}`;
    return undefined;
  }

  /** Anybody can write somebody else's address into their profile. So a name that is an address must be the verified one. */
  #nameIn(claims: Claims): Pick<Identified, 'name' | 'because'> {
    const { claim } = this.settings;
    const name = claims[claim];
    if (typeof name !== 'string') return { name: undefined, because: `there is no claim ${claim}` };
    const { email, email_verified: isVerified } = claims;
    const isTheirs =
      isVerified === true && typeof email === 'string' && email.toLowerCase() === name.toLowerCase();
    // guard(provider: an address that is not verified names nobody): !name.includes('@') || isTheirs ⇒ name !== ''
    if (!name.includes('@') || isTheirs) return { name, because: undefined };
    return { name: undefined, because: `the address in ${claim} is not verified (email_verified)` };
  }

  async #configuration(nowMs: number): Promise<client.Configuration> {
    if (this.#configured !== undefined && nowMs - this.#configured.at < KNOWN_FOR_MS)
      return this.#configured.configuration;
    const { issuer, clientId, clientSecret } = this.settings;
    const url = new URL(issuer);
    const options = {
      timeout: TIMEOUT_S,
      ...(isLoopback(url.hostname) &&
        url.protocol === 'http:' && { execute: [client.allowInsecureRequests] }),
    };
    const configuration = await client
      .discovery(url, clientId, clientSecret, undefined, options)
      .catch((error: unknown) => {
        throw new ProviderUnavailable('the identity provider does not answer as one', { cause: error });
      });
    this.#configured = { at: nowMs, configuration };
    return configuration;
  }

  #seal(going: Going): string {
    return encrypt(this.#key, JSON.stringify(going), '').toString('base64url');
  }

  #open(kept: string): Going | undefined {
    const opened = decrypt(this.#key, Buffer.from(kept, 'base64url'), '');
    return opened === undefined ? undefined : (JSON.parse(opened.toString('utf8')) as Going);
  }
}
