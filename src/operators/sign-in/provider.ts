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
  /** Undefined where it does not say, or does not vouch for it. */
  readonly name: string | undefined;
  /** As it was given to `go`. */
  readonly session: string | undefined;
}

const WITHIN_MS = 10 * 60_000;
const TIMEOUT_S = 5;
const KNOWN_FOR_MS = 10 * 60_000;

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
      ...(session !== undefined && { prompt: 'login', max_age: String(WITHIN_MS / 1_000) }),
    });
    return { url: url.href, kept: this.#seal(going) };
  }

  /** Undefined where it did not say who it is, or was not asked by this browser. */
  async comeBack(cameTo: string, kept: string, nowMs: number): Promise<Identified | undefined> {
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
      const { issuer } = configuration.serverMetadata();
      return { subject: `${issuer} ${claims.sub}`, name: this.#nameIn(claims), session: going.session };
    } catch {
      return undefined;
    }
  }

  #nameIn(claims: Readonly<Record<string, unknown>>): string | undefined {
    const { claim } = this.settings;
    const name = claims[claim];
    // Anybody can write somebody else's address into their profile.
    const isVouchedFor = claim !== 'email' || claims.email_verified === true;
    return typeof name === 'string' && isVouchedFor ? name : undefined;
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
