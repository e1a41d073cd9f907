// Which certificates can be used, and how near their end they are.
import { describe, expect, test } from 'vitest';
import { checkedCertificate, daysToExpiry, isInForce, UnusableCertificate } from '../../src/http/tls.js';
import { daysFromNow, makeCertificate } from '../../testkit/certificates.js';

const authority = makeCertificate({ name: 'authority' });
const shop = makeCertificate({ issuer: authority });
const other = makeCertificate();
const DAY_MS = 86_400_000;

describe('a pair of certificate and key', () => {
  test('complete, with the issuer’s certificate → usable, and identified by its own fingerprint', () => {
    const { certificate, key, fingerprint } = shop;
    expect(checkedCertificate({ certificate, key })).toMatchObject({
      pair: { certificate, key },
      fingerprint,
    });
  });

  test.each<[string, { certificate: string; key: string }, RegExp]>([
    [
      'another key',
      { certificate: shop.certificate, key: other.key },
      /the key is not that of the certificate/,
    ],
    ['the key in the place of the certificate', { certificate: shop.key, key: shop.key }, /not in PEM/],
    ['the certificate in the place of the key', { ...shop, key: shop.certificate }, /the key cannot be read/],
    ['a path in the place of the certificate', { ...shop, certificate: '/etc/tls.crt' }, /not in PEM/],
    ['nothing', { certificate: '', key: '' }, /not in PEM/],
    [
      'a certificate of something else',
      {
        ...shop,
        certificate: '-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n',
      },
      /the certificate cannot be read/,
    ],
    // catches(certificates: the key belongs to the certificate)
  ])('%s → refused, with a message that repeats nothing of the key', (_, pair, reason) => {
    expect(() => checkedCertificate(pair)).toThrow(UnusableCertificate);
    expect(() => checkedCertificate(pair)).toThrow(reason);
  });

  // catches(certificates: one that is cut short is said to be)
  test('cut short anywhere → refused with the reason, except between two certificates of the chain', () => {
    const { certificate, key } = shop;
    const lengths = Array.from({ length: Math.ceil(certificate.length / 9) }, (_, index) => index * 9);
    const usable = lengths.filter((length) => {
      try {
        checkedCertificate({ certificate: certificate.slice(0, length), key });
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(UnusableCertificate);
        expect((error as Error).message).toMatch(/^the certificate is (cut short|not in PEM)$/);
        return false;
      }
    });
    // Between its own and its issuer's end, where the file is a whole certificate: a line, or the beginning of one.
    const ownEnd = certificate.indexOf('-----END CERTIFICATE-----') + '-----END CERTIFICATE-----'.length;
    const begun =
      certificate.lastIndexOf('-----BEGIN CERTIFICATE-----') + '-----BEGIN CERTIFICATE-----'.length;
    expect(usable.filter((length) => length < ownEnd || length >= begun)).toEqual([]);
    for (let length = 0; length < key.length - 2; length += 3) {
      expect(() => checkedCertificate({ certificate, key: key.slice(0, length) })).toThrow(
        UnusableCertificate,
      );
    }
  });
});

test.each([
  [40, undefined],
  [29.9, 30],
  [7.1, 30],
  [6.9, 7],
  [1.1, 7],
  [0.9, 1],
  [-0.1, 0],
])('%d days before it expires → warned of at %s', (days, step) => {
  const { certificate, key } = makeCertificate({ from: daysFromNow(-300), until: daysFromNow(days) });
  expect(daysToExpiry(checkedCertificate({ certificate, key }), Date.now())).toBe(step);
});

test('valid from its first moment to its last', () => {
  const checked = checkedCertificate(makeCertificate({ from: daysFromNow(1), until: daysFromNow(2) }));
  const at = (days: number) => isInForce(checked, Date.now() + days * DAY_MS);
  expect([at(0), at(1.5), at(2.5)]).toEqual([false, true, false]);
});
