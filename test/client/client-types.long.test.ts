// The types of the TypeScript client, held against the OpenAPI document by a compiler: every property, whether it is required, every value.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/openapi/openapi.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { type Document, typesOfComponents, typesOfQueries } from '../../testkit/openapi-types.js';
import { PROJECT_ROOT } from '../../testkit/project.js';

const DOCUMENT = JSON.parse(JSON.stringify(openApiDocument(OPERATIONS))) as Document;
/** What the client calls the query of an operation. Those of one customer or token have a merchant only: an option of the call. */
const QUERIES: Readonly<Record<string, string>> = {
  searchTransactions: 'SearchQuery',
  listTransactions: 'HistoryQuery',
  searchCustomers: 'CustomerQuery',
  listTokens: 'TokenQuery',
  listEvents: 'EventQuery',
  settlementOfDay: 'SettlementQuery',
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-types-'));
  await symlink(join(PROJECT_ROOT, 'client', 'src'), join(folder, 'client'));
  const { compilerOptions } = JSON.parse(await readFile(join(PROJECT_ROOT, 'client/tsconfig.json'), 'utf8'));
  const { lib, target } = compilerOptions;
  const options = { strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: [] };
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...options, lib, target, module: 'nodenext', preserveSymlinks: true },
      files: ['check.ts'],
    }),
  );
});
afterAll(() => rm(folder, { recursive: true }));

/** The names whose types differ from the document's, as the compiler sees it. */
async function differing(document: Document): Promise<string[]> {
  const components = typesOfComponents(document);
  const queries = [...typesOfQueries(document)].filter(([operation]) => operation in QUERIES);
  const lines = [
    "import type * as Client from './client/index.js';",
    'type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;',
    'declare function check<Name extends string, Verdict extends true>(): void;',
    'namespace Document {',
    ...[...components].map(([name, type]) => `  export type ${name} = ${type};`),
    ...queries.map(([operation, type]) => `  export type ${QUERIES[operation]} = ${type};`),
    '}',
    ...[...components.keys(), ...queries.map(([operation]) => QUERIES[operation])].map(
      (name) => `check<'${name}', Same<Document.${name}, Client.${name}>>();`,
    ),
  ];
  await writeFile(join(folder, 'check.ts'), lines.join('\n'));
  const compiler = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', folder], {
    cwd: folder,
  }).catch((failed) => failed as { stdout: string });
  return [...stdout.matchAll(/^check\.ts\((\d+),.*$/gm)].map(
    ([message, line]) => /'(\w+)'/.exec(lines[Number(line) - 1] ?? '')?.[1] ?? message,
  );
}

test('the client’s types are those of the document', async () => {
  expect(await differing(DOCUMENT)).toEqual([]);
});

test('a property more, one less, one that is required, a value more → each is seen', async () => {
  const changed = structuredClone(DOCUMENT);
  // biome-ignore lint/suspicious/noExplicitAny: a document is changed here and there
  const schemas = changed.components.schemas as Record<string, any>;
  schemas.Creditcard.properties.name = { type: 'string' };
  delete schemas.Customer.properties.reference;
  schemas.Bankaccount.required = ['bsb', 'account_number'];
  schemas.TransactionStatus.properties.transaction_status_code['x-extensible-enum'].push('frozen');
  schemas.TokenList.properties.results.items = { type: 'string' };
  const list = changed.paths['/customers']?.get as { parameters: { name: string; required: boolean }[] };
  for (const parameter of list.parameters) if (parameter.name === 'limit') parameter.required = true;
  const found = await differing(changed);
  for (const name of [
    'Creditcard',
    'Customer',
    'Bankaccount',
    'TransactionStatus',
    'TokenList',
    'CustomerQuery',
  ]) {
    expect(found).toContain(name);
  }
  expect(found).not.toContain('Problem');
});
