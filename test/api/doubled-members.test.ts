// Duplicate members: readers that take the first and readers that take the last would disagree about money.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { paymentBody } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { storedRows } from '../../testkit/requests.js';

const BODY = JSON.stringify(paymentBody());
const withMember = (member: string) => BODY.replace('{', `{${member},`);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

test.each<[string, string]>([
  ['the amount', BODY.replace('"total_amount":"10000"', '"total_amount":"10000","total_amount":"1"')],
  ['the amount, both alike', BODY.replace('"total_amount":"10000"', '$&,$&')],
  ['once in escapes', BODY.replace('"reference":"order-1"', '$&,"\\u0072eference":"order-2"')],
  ['the merchant, around the rest', BODY.replace(/}$/, ',"merchant":{"id":1}}')],
  ['deep in an unknown member', withMember('"unknown":[[{"a":{"b":[{"c":1,"d":2,"c":{}}]}}]]')],
  ['of no name', withMember('"unknown":{"":1,"":2}')],
  ['__proto__', withMember('"__proto__":{"a":1},"__proto__":{"a":1}')],
  ['__proto__, once in escapes', withMember('"__proto__":null,"\\u005f_proto__":null')],
  ['behind strings of quotes and braces', withMember('"u\\"{":"\\\\","v":"}\\"","w":{"x":1,"x":1}')],
])(
  // catches(body: no member stands twice in one object)
  'a member that stands twice in one object: %s → 400 malformed_json, and nothing is processed',
  async (_, raw) => {
    expect(() => JSON.parse(raw)).not.toThrow();
    const before = await storedRows(gateway);
    const answer = await gateway.api.call('/transactions/purchase', { method: 'POST', raw });
    expect({ status: answer.status, errors: answer.errors }).toEqual({
      status: 400,
      errors: ['malformed_json body'],
    });
    expect(await storedRows(gateway)).toBe(before);
  },
);
