// The stored-credential indicator: field 22 of whatever is paid with a card from the vault, on the wire.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CARD } from '../../../testkit/client.js';
import { approved, GatewayAtHost } from './gateway-at-host.js';

const KEYED = '012';
const STORED = '102';

let at: GatewayAtHost;
let virtualPan: string;
beforeAll(async () => {
  at = await GatewayAtHost.start();
  const { api } = at.gateway;
  const { body: customer } = await api.post('/customers', { reference: 'iso', name: 'A Customer' });
  const account = {
    general_creditcard: { 'CARD.PAN': CARD, 'CARD.EXPIRY': '1239', 'CARD.NAME': 'A Customer' },
  };
  const wish = { preferred_name: 'card', active: true, account };
  const { body: token } = await api.post(`/customers/${customer.id}/tokens`, wish);
  virtualPan = token.virtual_pan;
});
afterAll(() => at.stop());

/** Card number, entry mode, and what stands where a CVV would, of the last message of a type. */
function sent(type: string): (string | undefined)[] {
  return [2, 22, 47].map((field) => at.last(type).fields.get(field));
}

test('the first payment after a card was stored, and every later one → 102, with the card number and without a CVV', async () => {
  const { api } = at.gateway;
  await approved(api.purchase({ pan: virtualPan, cvv: '739' }));
  expect(sent('0200')).toEqual([CARD, STORED, undefined]);
  await approved(api.purchase({ pan: virtualPan }));
  expect(sent('0200')).toEqual([CARD, STORED, undefined]);
  await approved(api.standaloneRefund({ pan: virtualPan }));
  expect(sent('0200')).toEqual([CARD, STORED, undefined]);
});

test('a payment with the card number itself → 012, even if the same card is stored', async () => {
  await approved(at.gateway.api.purchase({ pan: CARD }));
  expect(sent('0200').slice(0, 2)).toEqual([CARD, KEYED]);
});

test('a preauthorisation by virtual PAN, its completion, the refund of that → 102 each; the void has no entry mode', async () => {
  const { api } = at.gateway;
  const held = await approved(api.preauthorise({ pan: virtualPan, amount: 900 }));
  expect(sent('0100')).toEqual([CARD, STORED, undefined]);
  const completed = await approved(api.complete(held, 800));
  expect(sent('0220')).toEqual([CARD, STORED, undefined]);
  const refunded = await approved(api.refund(completed, 700));
  expect(sent('0200')).toEqual([CARD, STORED, undefined]);
  await approved(api.void(refunded));
  expect(sent('0420')).toEqual([CARD, undefined, undefined]);
});

test('the same with a card number → 012 each', async () => {
  const { api } = at.gateway;
  const held = await approved(api.preauthorise({ pan: CARD, amount: 900 }));
  const completed = await approved(api.complete(held, 800));
  await approved(api.refund(completed, 700));
  expect(['0100', '0220', '0200'].map((type) => sent(type)[1])).toEqual([KEYED, KEYED, KEYED]);
});
