// Several plugins at once: each changes what the one before has left.
import { expect, test } from 'vitest';
import { applyPlugins, type Payment, type Plugin, register } from '../../src/plugins/contract.js';
import { SURCHARGE } from '../../src/plugins/surcharge.js';
import { cents } from '../../src/values/money.js';

/** Adds a fixed donation, as a second plugin might. */
const DONATION: Plugin<{ readonly addCents: number }, { readonly addedCents: number }> = {
  name: 'donation',
  apply: ({ amountCents }, { addCents }) => ({
    amountCents: cents(amountCents + addCents),
    kvps: { 'DONATION.AMOUNT': String(addCents) },
    decision: { addedCents: addCents },
  }),
  applyToCompletion: () => undefined,
};

const PAYMENT: Payment = {
  paymentMethod: 'creditcard',
  cardType: 'visa',
  amountCents: cents(10_000),
  atMs: Date.UTC(2026, 7, 15),
  kvps: { SENT: 'by the client' },
};
const PLUGINS = [register(DONATION), register(SURCHARGE)];
const SURCHARGED = { surcharge: [{ scope: 'default', thousandths: 1_000 }] };

test('two plugins, both switched on → each changes the result of the one before, with its own settings', () => {
  const paid = applyPlugins(PAYMENT, { donation: { addCents: 500 }, ...SURCHARGED }, PLUGINS);
  expect(paid).toMatchObject({
    amountCents: 10_605,
    kvps: {
      SENT: 'by the client',
      'DONATION.AMOUNT': '500',
      'SURCHARGE.ORIGINAL_AMOUNT': '10500',
      'SURCHARGE.ADDED_AMOUNT': '105',
    },
    pricing: {
      originalCents: 10_000,
      decisions: { donation: { addedCents: 500 }, surcharge: { thousandths: 1_000 } },
    },
  });
});

test('two plugins, one switched on → only that one applies', () => {
  expect(applyPlugins(PAYMENT, SURCHARGED, PLUGINS).amountCents).toBe(10_100);
  expect(applyPlugins(PAYMENT, { donation: { addCents: 500 } }, PLUGINS).amountCents).toBe(10_500);
  expect(applyPlugins(PAYMENT, {}, PLUGINS)).toBe(PAYMENT);
});
