// Lodgement references: unique, 18 characters long, and each leads back to its transaction.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  lodgementReference,
  parseLodgementReference,
} from '../../src/directdebit/files/lodgement-reference.js';
import type { Audit, OrganisationId } from '../../src/values/ids.js';
import { digits, id, lodged, text } from '../../testkit/generated-items.js';

test('a lodgement reference has 18 characters and leads back to its transaction', () => {
  fc.assert(
    fc.property(lodged, (transaction) => {
      const reference = lodgementReference(transaction);
      expect(reference).toMatch(/^[0-9A-Z]{18}$/);
      expect(parseLodgementReference(reference)).toEqual(transaction);
    }),
  );
});

test('two transactions never have the same lodgement reference', () => {
  const near = fc.tuple(id, id).map(([organisation, audit]) => ({
    installation: 'ABCDEF',
    organisationId: organisation as OrganisationId,
    audit: audit as Audit,
  }));
  fc.assert(
    fc.property(
      fc.uniqueArray(near, { selector: ({ organisationId, audit }) => `${organisationId}/${audit}` }),
      (many) => {
        expect(new Set(many.map(lodgementReference)).size).toBe(many.length);
      },
    ),
  );
});

test('a text that is not a lodgement reference leads to no transaction', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), digits(0, 20), text(18)), (reference) => {
      const [, organisation = '', audit = ''] = /^.{6}(.{6})(.{6})$/.exec(reference.trim()) ?? [];
      const number = (part: string) => Number.parseInt(part, 36);
      const right =
        /^[0-9A-Z]{18}$/.test(reference.trim()) &&
        [organisation, audit].every((part) => number(part) >= 1 && number(part) < 2 ** 31);
      expect(parseLodgementReference(reference) !== undefined).toBe(right);
    }),
  );
});
