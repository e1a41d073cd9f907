// What is known of a request by its method and address alone.
import { expect, test } from 'vitest';
import { createsTransaction } from '../../src/api/addresses.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { expectEach } from '../../testkit/each-case.js';

test('whether an operation creates a transaction is known by its method and address', () =>
  expectEach(
    OPERATIONS.map((operation) => [operation.id, operation] as const),
    ([_, { method, route, creates = false }]) => {
      expect(createsTransaction({ method, url: `/v1${route.replaceAll(/\{\w+\}/g, '1')}` })).toBe(creates);
    },
  ));
