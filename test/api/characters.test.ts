// Every character of the restricted sets is accepted, and every other one refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TEST_MODE } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bodyWith, storedRows } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

const LETTERS_AND_DIGITS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const RESTRICTED = `${LETTERS_AND_DIGITS} !#$%&()*+,-./:;<=>?@[]^_\`{|}~`;
const OF_CORRELATION_IDS = `${LETTERS_AND_DIGITS}+-_:.,`;
const OF_KVP_KEYS = `${LETTERS_AND_DIGITS}_.`;

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const BEYOND_ASCII = [
  'é',
  'ß',
  '\u0080',
  '\u00a0',
  '’',
  '１',
  '\u2028',
  '\ufeff',
  '\ufffd',
  '💳',
  '\ud800',
  '\udfff',
];
const othersThan = (allowed: string) => ASCII.filter((character) => !allowed.includes(character));
const shown = (characters: readonly string[]) => characters.map((one) => JSON.stringify(one));

describe('restricted set', () => {
  test('every allowed character, alone and all together → accepted and echoed in reference and KVP value', async () => {
    await Promise.all(
      [...RESTRICTED, RESTRICTED, ' leading and trailing '].map(async (text) => {
        const answer = await gateway.api.purchase({ reference: text, kvps: { key: text } });
        expect({ text, status: answer.status }).toEqual({ text, status: 201 });
        expect(answer.body.kvps['GATEWAY.REQUEST.KVP.key']).toBe(text);
        const { body } = await gateway.api.lookUp(answer.body.audit);
        expect(body.transaction.reference).toBe(text);
        expect(body.kvps['GATEWAY.REQUEST.KVP.key']).toBe(text);
      }),
    );
  });

  test('every other ASCII character and anything beyond ASCII → 422 field_charset, nothing stored', async () => {
    const before = await storedRows(gateway);
    const refused = [...othersThan(RESTRICTED), ...BEYOND_ASCII];
    expect(refused).toHaveLength(128 - RESTRICTED.length + BEYOND_ASCII.length);
    for (const character of refused) {
      const body = bodyWith('kvps', { key: `a${character}b` });
      const answer = await gateway.api.post(
        '/transactions/purchase',
        bodyWith('transaction.reference', `a${character}b`, body),
      );
      expect({ character, status: answer.status, errors: answer.errors.toSorted() }).toEqual({
        character,
        status: 422,
        errors: ['field_charset body/kvps/key', 'field_charset body/transaction/reference'],
      });
    }
    expect(await storedRows(gateway)).toBe(before);
  });

  test('a forbidden character at the very end → 422 field_charset', () =>
    expectEach(['\u0000', '\n', '"'], async (character) => {
      const answer = await gateway.api.purchase({ reference: `order${character}` });
      expect(answer.errors).toEqual(['field_charset body/transaction/reference']);
    }));
});

describe('KVP keys', () => {
  test('every letter, digit, underscore and period → accepted and echoed', async () => {
    await Promise.all(
      [...OF_KVP_KEYS, OF_KVP_KEYS].map(async (key) => {
        const answer = await gateway.api.purchase({ kvps: { [key]: 'v' } });
        expect(answer.body.kvps).toEqual({ ...TEST_MODE, [`GATEWAY.REQUEST.KVP.${key}`]: 'v' });
      }),
    );
  });

  test('every other ASCII character and anything beyond ASCII → 422 field_charset', () =>
    expectEach(shown([...othersThan(OF_KVP_KEYS), ...BEYOND_ASCII]), async (character) => {
      const key = `a${JSON.parse(character)}b`;
      const answer = await gateway.api.post('/transactions/purchase', bodyWith('kvps', { [key]: 'v' }));
      expect({ status: answer.status, errors: answer.errors }).toEqual({
        status: 422,
        errors: [`field_charset body/kvps/${key}`],
      });
    }));
});

describe('X-Correlation-Id and correlation_id_lookup', () => {
  test('every allowed character, alone and all together → accepted, echoed, and found by the search', async () => {
    await Promise.all(
      [...OF_CORRELATION_IDS, OF_CORRELATION_IDS].map(async (correlationId) => {
        const answer = await gateway.api.purchase({ correlationId });
        expect({ correlationId, status: answer.status }).toEqual({ correlationId, status: 201 });
        expect(answer.headers.get('x-correlation-id')).toBe(correlationId);
        const { body } = await gateway.api.search(correlationId);
        expect(body.results.map((found: { audit: number }) => found.audit)).toEqual([answer.body.audit]);
      }),
    );
  });

  // Other control characters, and what is beyond Latin-1, cannot be sent in a header at all.
  const inHeaders = [...othersThan(OF_CORRELATION_IDS), 'é', '\u00a0'].filter(
    (character) => character === '\t' || (character >= ' ' && character !== '\u007f'),
  );
  test('every other character in the header → 422 field_charset, and no echo', () =>
    expectEach(shown(inHeaders), async (character) => {
      const answer = await gateway.api.purchase({ correlationId: `a${JSON.parse(character)}b` });
      expect({ status: answer.status, errors: answer.errors }).toEqual({
        status: 422,
        errors: ['field_charset header/X-Correlation-Id'],
      });
      expect(answer.headers.get('x-correlation-id')).toBeNull();
    }));

  const inQueries = [...othersThan(OF_CORRELATION_IDS), 'é', '💳'];
  test('every other character in the query → 422 field_charset', () =>
    expectEach(shown(inQueries), async (character) => {
      const answer = await gateway.api.search(`a${JSON.parse(character)}b`);
      expect({ status: answer.status, errors: answer.errors }).toEqual({
        status: 422,
        errors: ['field_charset query/correlation_id_lookup'],
      });
    }));
});
