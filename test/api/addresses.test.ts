// What is known of a request by its method and address alone.
import { expect, test } from 'vitest';
import { createsTransaction } from '../../src/api/addresses.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';

test.each(OPERATIONS.map((operation) => [operation.id, operation] as const))(
  '%s: whether it creates a transaction is known by its method and address',
  (_, { method, route, creates = false }) => {
    expect(createsTransaction({ method, url: `/v1${route.replaceAll(/\{\w+\}/g, '1')}` })).toBe(creates);
  },
);
