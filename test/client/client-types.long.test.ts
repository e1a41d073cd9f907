// The wire types of the TypeScript client are made from the OpenAPI document: `npx vitest run test/client/client-types.test.ts --update` makes them.
import { expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/openapi/openapi.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { type Document, typesOf } from '../../testkit/openapi-types.js';

/** What the client calls the query of an operation. Those of one customer or token have a merchant only: an option of the call. */
const QUERIES = {
  searchTransactions: 'SearchQuery',
  listTransactions: 'HistoryQuery',
  listSchedules: 'ScheduleQuery',
  searchCustomers: 'CustomerQuery',
  listTokens: 'TokenQuery',
  listEvents: 'EventQuery',
  settlementOfDay: 'SettlementQuery',
};

const BEGINNING = `// What stands on the wire, made from the gateway's OpenAPI document by test/client/client-types.test.ts. Change nothing here.

/** A text with known values. There may be new ones at any time: an \`else\` belongs to whatever looks at one. */
export type OpenEnum<Known extends string> = Known | (string & {});

export type CardType = MaskedCreditcard['type'];

`;

test('the client’s types match the document', async () => {
  const document = JSON.parse(JSON.stringify(openApiDocument(OPERATIONS))) as Document;
  await expect(BEGINNING + typesOf(document, QUERIES)).toMatchFileSnapshot('../../client/src/wire.ts');
});
