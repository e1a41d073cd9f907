// The operators' listener: where it may be opened, and whom it shows anything.
import { afterAll, describe, expect, test } from 'vitest';
import { openOperators } from '../../src/gateway/operators.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { checkedCertificate } from '../../src/http/tls.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { httpsCaller } from '../../testkit/http-call.js';
import { readScrape } from '../../testkit/scrape.js';

const LOG = { warn: () => {} };
const TOKEN = 'a-token-of-sixteen-or-more';
const certificate = checkedCertificate(makeCertificate());
const renewed = checkedCertificate(makeCertificate({ name: 'renewed.example' }));

describe('outside loopback', () => {
  const settings = readSettings({
    TOLLGATE_CONSOLE_HOST: '0.0.0.0',
    TOLLGATE_CONSOLE_PORT: '0',
    TOLLGATE_METRICS_TOKEN: TOKEN,
  });
  const opened = openOperators(settings, certificate, LOG);
  afterAll(async () => (await opened)?.close());
  const call = httpsCaller({
    trusted: certificate.pair.certificate + renewed.pair.certificate,
    connectionPerRequest: true,
  });
  const scraped = async (authorization?: string) => {
    const url = (await opened)?.url.replace('0.0.0.0', '127.0.0.1');
    return call(`${url}/metrics`, {
      method: 'GET',
      headers: authorization === undefined ? {} : { authorization },
    });
  };

  test.each([
    ['no token', undefined],
    ['another token', 'Bearer another-token-of-this-length'],
    ['the beginning of it', `Bearer ${TOKEN.slice(0, -1)}`],
    ['more than it', `Bearer ${TOKEN}x`],
    ['another scheme', `Basic ${TOKEN}`],
    // catches(metrics: outside loopback only for whoever has the token)
  ])('%s → 401, and no metrics', async (_, authorization) => {
    const { status, text, headers } = await scraped(authorization);
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(text).not.toContain('tollgate_');
    expect(text).not.toContain(TOKEN);
  });

  test('the token → metrics over TLS, by any host name; a renewed certificate is used from then on, and a metric has its expiry', async () => {
    const operators = await opened;
    operators?.show({ figures: async () => [{ processes: [[[], 1]] }], certificate: () => renewed });
    const { status, text, certificate: shown } = await scraped(`Bearer ${TOKEN}`);
    expect([status, shown]).toEqual([200, certificate.fingerprint]);
    const seen = readScrape(text);
    expect(seen.sum('tollgate_processes')).toBe(1);
    expect(seen.sum('tollgate_certificate_expires_timestamp_seconds')).toBe(renewed.expiresAtMs / 1_000);
    expect(seen.sum('tollgate_certificate_issued_timestamp_seconds')).toBe(renewed.validFromMs / 1_000);
    operators?.useCertificate(renewed);
    expect((await scraped(`Bearer ${TOKEN}`)).certificate).toBe(renewed.fingerprint);
  });
});

describe('settings', () => {
  test.each([
    [{ TOLLGATE_CONSOLE_HOST: '0.0.0.0' }, /^TOLLGATE_METRICS_TOKEN is needed where TOLLGATE_CONSOLE_HOST/],
    [{ TOLLGATE_METRICS_TOKEN: 'short' }, /^TOLLGATE_METRICS_TOKEN must be 16 characters or more/],
    [{ TOLLGATE_METRICS_TOKEN: 'with a space in it, and long' }, /^TOLLGATE_METRICS_TOKEN must be/],
    [
      { TOLLGATE_CONSOLE_PORT: 'none' },
      /^TOLLGATE_CONSOLE_PORT must be a whole number from 0 to 65535, or off$/,
    ],
    [
      { TOLLGATE_OTLP_ENDPOINT: 'http://collector.example:4318' },
      /^TOLLGATE_OTLP_ENDPOINT must begin with https/,
    ],
    [{ TOLLGATE_OTLP_ENDPOINT: 'collector:4318' }, /^TOLLGATE_OTLP_ENDPOINT must begin with https/],
    [
      { TOLLGATE_OTLP_ENDPOINT: 'https://collector.example', TOLLGATE_OTLP_HEADERS: 'key' },
      /^TOLLGATE_OTLP_HEADERS must be NAME=VALUE, with commas between$/,
    ],
    [
      { TOLLGATE_CHECKOUT_HOST: '0.0.0.0' },
      /^TOLLGATE_CHECKOUT_HOST: card numbers would come to 0.0.0.0 without TLS/,
    ],
    [
      { TOLLGATE_CHECKOUT_URL: 'http://pay.example' },
      /^TOLLGATE_CHECKOUT_URL must be an address such as https/,
    ],
    // catches(settings: no pages for payers outside loopback without TLS)
    // catches(traces: spans go over no network in clear)
    // catches(metrics: outside loopback not without a token)
  ])('%o → refused', (environment, line) => {
    expect(() => readSettings(environment as Record<string, string>)).toThrow(line);
  });

  test('off → no listener; default → on loopback, without TLS', async () => {
    expect(
      await openOperators(readSettings({ TOLLGATE_CONSOLE_PORT: 'off' }), undefined, LOG),
    ).toBeUndefined();
    expect(readSettings({}).console).toEqual({ host: '127.0.0.1', port: 8081, metricsToken: undefined });
    const operators = await openOperators(readSettings({ TOLLGATE_CONSOLE_PORT: '0' }), certificate, LOG);
    try {
      // Before the gateway has started there is nothing to show, but somebody answers.
      expect(operators?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect((await fetch(`${operators?.url}/metrics`)).status).toBe(200);
    } finally {
      await operators?.close();
    }
  });
});
