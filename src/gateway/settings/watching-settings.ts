// The settings of the operators' listener, of tracing, and of the journal's anchors.

import { type Destination, readDestination } from '../../journal/anchor.js';
import type { ProviderSettings } from '../../operators/sign-in/provider.js';
import { isLoopback } from '../../values/network.js';
import type { OtlpSettings } from '../observability/span-export.js';
import { SettingsError, type Variables } from './variables.js';

export interface ConsoleSettings {
  readonly host: string;
  readonly port: number;
  /** Required to scrape metrics. */
  readonly metricsToken: string | undefined;
  /** Where browsers find the console, without a trailing slash. Undefined: where it listens. */
  readonly publicUrl: string | undefined;
  /** The identity provider for operators, beside the console's own sign-in. */
  readonly identityProvider: ProviderSettings | undefined;
}

export const DEFAULT_CONSOLE_PORT = 8081;

/** Outside loopback everybody who reaches the machine could eavesdrop, and learn how much is paid over which acquirer. */
export function readConsole(variables: Variables): ConsoleSettings | undefined {
  const isOff = variables.text('TOLLGATE_CONSOLE_PORT') === 'off';
  const host = variables.text('TOLLGATE_CONSOLE_HOST') ?? '127.0.0.1';
  const metricsToken = variables.secret('TOLLGATE_METRICS_TOKEN');
  const publicUrl = readPublicUrl(variables, 'TOLLGATE_CONSOLE_URL', 'https://console.example');
  const identityProvider = readProvider(variables);
  if (isOff) return undefined;
  const port = variables.integer('TOLLGATE_CONSOLE_PORT', DEFAULT_CONSOLE_PORT, 0, 65_535, 'off');
  if (metricsToken !== undefined && !/^[\x21-\x7e]{16,}$/.test(metricsToken))
    throw new SettingsError('TOLLGATE_METRICS_TOKEN must be 16 characters or more, none of them a space');
  // guard(metrics: outside loopback not without a token): !isLoopback(host) && metricsToken === undefined ⇒ false
  if (!isLoopback(host) && metricsToken === undefined)
    throw new SettingsError(
      'TOLLGATE_METRICS_TOKEN is needed where TOLLGATE_CONSOLE_HOST is outside loopback',
    );
  return { host, port, metricsToken, publicUrl, identityProvider };
}

function isSafe({ protocol, hostname }: URL): boolean {
  // guard(traces: spans go over no network in clear): isLoopback(hostname) ⇒ hostname !== ''
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** Where browsers find pages of the gateway. Sessions travel over it, or cards. */
export function readPublicUrl(variables: Variables, name: string, example: string): string | undefined {
  const text = variables.text(name);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !isSafe(url) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  )
    throw new SettingsError(
      `${name} must be an address such as ${example}, without a path; http:// leads to this machine only`,
    );
  return url.origin;
}

function readProvider(variables: Variables): ProviderSettings | undefined {
  const issuer = variables.text('TOLLGATE_OIDC_ISSUER');
  const clientId = variables.text('TOLLGATE_OIDC_CLIENT_ID');
  const clientSecret = variables.secret('TOLLGATE_OIDC_CLIENT_SECRET');
  const claim = variables.text('TOLLGATE_OIDC_CLAIM') ?? 'email';
  const [acr, amr] = [listOf(variables, 'TOLLGATE_OIDC_ACR'), listOf(variables, 'TOLLGATE_OIDC_AMR')];
  if (issuer === undefined) return undefined;
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (!isSafe)
    throw new SettingsError(
      'TOLLGATE_OIDC_ISSUER must begin with https://; http:// leads to this machine only',
    );
  if (clientId === undefined || clientSecret === undefined)
    throw new SettingsError(
      'TOLLGATE_OIDC_CLIENT_ID and TOLLGATE_OIDC_CLIENT_SECRET are needed with TOLLGATE_OIDC_ISSUER',
    );
  return { issuer, clientId, clientSecret, claim, acr, amr };
}

function listOf(variables: Variables, name: string): string[] {
  const values = (variables.text(name) ?? '').split(',').map((each) => each.trim());
  return values.filter((value) => value !== '');
}

/** Traces reveal payments, so they are never sent unencrypted over a network. */
export function readOtlp(variables: Variables): OtlpSettings | undefined {
  const text = variables.text('TOLLGATE_OTLP_ENDPOINT');
  const headers = variables.secret('TOLLGATE_OTLP_HEADERS');
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isSafe(url)) {
    throw new SettingsError(
      'TOLLGATE_OTLP_ENDPOINT must begin with https://; http:// leads to this machine only, as in http://127.0.0.1:4318',
    );
  }
  const pairs = (headers ?? '').split(',').filter((pair) => pair.trim() !== '');
  const named = pairs.map((pair) => /^\s*([\w-]+)=([\x20-\x7e]+)$/.exec(pair)?.slice(1));
  if (named.includes(undefined))
    throw new SettingsError('TOLLGATE_OTLP_HEADERS must be NAME=VALUE, with commas between');
  return {
    url: `${text.replace(/\/+$/, '')}/v1/traces`,
    headers: Object.fromEntries(named as [string, string][]),
  };
}

/** A checkpoint that somebody changes on its way is useless. */
export function readJournalAnchors(variables: Variables): Destination[] {
  const texts = (variables.text('TOLLGATE_JOURNAL_ANCHOR') ?? '').split(',').map((each) => each.trim());
  return texts
    .filter((text) => text !== '')
    .map((text) => {
      const destination = readDestination(text, isSafe);
      if (destination === undefined)
        throw new SettingsError(
          'TOLLGATE_JOURNAL_ANCHOR must be a file such as /var/log/tollgate/journal, syslog, syslog+udp://HOST:PORT, syslog+tcp://HOST:PORT or https://…, or several with commas between; http:// leads to this machine only',
        );
      return destination;
    });
}
