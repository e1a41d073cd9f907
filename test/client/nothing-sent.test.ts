// What the TypeScript client says where nothing can have been sent: that, and why.
import { createServer } from 'node:https';
import { expect, test } from 'vitest';
import {
  NothingSent,
  type Observed,
  OutcomeUnknown,
  Tollgate,
  type TollgateOptions,
  Unavailable,
} from '../../client/src/index.js';
import { paymentBody } from '../../testkit/bodies.js';
import { daysFromNow, makeCertificate } from '../../testkit/certificates.js';
import { freePort } from '../../testkit/gateway-process.js';

/** Clients of a gateway that is not there, and what they have told. */
function clients() {
  const observed: Observed[] = [];
  const another = (options: Partial<TollgateOptions>) =>
    new Tollgate({
      baseUrl: 'https://gateway.invalid/v1',
      username: 'shop',
      password: 'secret',
      firstPauseMs: 20,
      observe: (told) => observed.push(told),
      ...options,
    });
  return { another, observed };
}

test('nobody listens → tried again under the same ID until the timeout, then NothingSent with the cause', async () => {
  const { another, observed } = clients();
  const baseUrl = `http://127.0.0.1:${await freePort()}/v1`;
  const nobody = another({ baseUrl, outcomeTimeoutMs: 3_000 });
  const unsent = await nobody.purchase(paymentBody()).catch((error) => error);
  expect(unsent).toBeInstanceOf(NothingSent);
  // Whoever handles only this one keeps the order open, which is right for an ID that was used before.
  expect(unsent).toBeInstanceOf(OutcomeUnknown);
  expect(unsent).toMatchObject({
    name: 'NothingSent',
    message: expect.stringContaining('nothing was sent'),
    reason: 'time_is_up',
    last: 'not_connected',
    cause: { code: 'ECONNREFUSED' },
  });
  const sent = observed.filter(({ kind }) => kind === 'request');
  expect(sent.length).toBeGreaterThan(1);
  expect(new Set(sent.map(({ correlationId }) => correlationId)).size).toBe(1);
});

test('a host name without an address → NothingSent with the cause', async () => {
  const { another } = clients();
  const cause = Object.assign(new Error('getaddrinfo ENOTFOUND gateway.invalid'), { code: 'ENOTFOUND' });
  const nowhere = another({
    outcomeTimeoutMs: 2_000,
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
  });
  await expect(nowhere.purchase(paymentBody())).rejects.toMatchObject({
    name: 'NothingSent',
    last: 'not_connected',
    cause: { code: 'ENOTFOUND', message: cause.message },
  });
});

test('no answer to a try that may have arrived, and the last try not sent → OutcomeUnknown', async () => {
  const { another } = clients();
  let tries = 0;
  const failing = another({
    outcomeTimeoutMs: 1_000,
    fetch: async () => {
      tries += 1;
      const code = tries === 1 ? 'ECONNRESET' : 'ECONNREFUSED';
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
    },
  });
  const unknown = await failing.purchase(paymentBody()).catch((error) => error);
  expect(unknown).toBeInstanceOf(OutcomeUnknown);
  expect(unknown).not.toBeInstanceOf(NothingSent);
  expect(unknown.cause).toMatchObject({ code: 'ECONNREFUSED' });
});

test.each([
  ['signed by itself', {}, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  [
    'from an authority that nobody knows',
    { issuer: makeCertificate() },
    expect.stringMatching(/ISSUER|CHAIN|LEAF|SELF/),
  ],
  ['that has expired', { from: daysFromNow(-9), until: daysFromNow(-1) }, 'CERT_HAS_EXPIRED'],
])(
  'a certificate %s → NothingSent at once with the cause, and nothing arrives; a look-up → Unavailable',
  async (_, options, code) => {
    const { certificate, key } = makeCertificate(options);
    const arrived: string[] = [];
    const server = createServer({ cert: certificate, key }, ({ url }, response) => {
      arrived.push(String(url));
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { another, observed } = clients();
      const { port } = server.address() as { port: number };
      const client = another({ baseUrl: `https://127.0.0.1:${port}/v1` });
      const unsent = await client.purchase(paymentBody()).catch((error) => error);
      expect(unsent).toBeInstanceOf(NothingSent);
      expect(unsent).toMatchObject({ reason: 'not_trusted', last: 'not_trusted', cause: { code } });
      expect(unsent.message).toContain(unsent.cause.message);
      await expect(client.customers.create({ reference: 'x', name: 'x' })).rejects.toMatchObject({
        name: 'NothingSent',
        cause: { code },
      });
      const unavailable = await client.transaction(1).catch((error) => error);
      expect(unavailable).toBeInstanceOf(Unavailable);
      expect(unavailable).toMatchObject({ cause: { code } });
      expect(observed.filter(({ kind }) => kind === 'request')).toHaveLength(3);
      expect(arrived).toEqual([]);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  },
);
