// The samples of the reference page are run: by curl, in TypeScript and in Python, each for every operation.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/openapi/openapi.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { entriesOf } from '../../src/reference/entries.js';
import { referencePage } from '../../src/reference/page.js';
import { requestSamples } from '../../src/reference/samples.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';
import { textOf } from '../../testkit/page-text.js';
import { environmentWithoutSettings, PROJECT_ROOT } from '../../testkit/project.js';
import { createSchedule } from '../../testkit/schedules.js';
import { vaultOf } from '../../testkit/vault-client.js';

type Language = 'curl' | 'typescript' | 'python';

const DOCUMENT = openApiDocument(OPERATIONS);
const ENTRIES = entriesOf(DOCUMENT);

/** The text of a sample, as a reader copies it from the page. */
function sampleIn(html: string, language: Language): string {
  const [, block = ''] =
    new RegExp(`data-sample="${language}"[\\s\\S]*?<code>([\\s\\S]*?)</code>`).exec(html) ?? [];
  return textOf(`<body>${block}`);
}

const [, INTRODUCTION = ''] =
  /<section id="requests">([\s\S]*?)<\/section>/.exec(referencePage(DOCUMENT)) ?? [];

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
});
afterAll(() => gateway.close());

/** The things that samples name: created again for each, since samples refund, void and delete them. */
async function values(operationId: string) {
  const { api } = gateway;
  const correlationId = crypto.randomUUID();
  const payment =
    operationId === 'createCompletion'
      ? await api.preauthorise({ amount: '1995', correlationId })
      : await api.purchase({ amount: '1995', correlationId });
  const { customerId, id: tokenId, virtualPan } = await vaultOf(api).newToken();
  const { example } = OPERATIONS.find(({ id }) => id === 'createCheckout') ?? {};
  const { body } = await api.post('/checkouts', example, correlationId);
  const later = { first_date: '2036-12-01', every: { months: 1 } };
  const scheduleId = (await createSchedule(api, virtualPan, later)).body.id;
  if (operationId === 'resumeSchedule') await api.call(`/schedules/${scheduleId}/pause`, { method: 'POST' });
  const { audit } = payment.body;
  return { audit, correlationId, customerId, tokenId, virtualPan, checkoutId: body.id, scheduleId };
}

const sample = (entry: (typeof ENTRIES)[number], language: Language) =>
  sampleIn(requestSamples(entry).text, language);
/** A token that is there, in place of the example's. */
const withToken = (text: string, virtualPan: string) => text.replaceAll('9217664744023758', virtualPan);
const here = (text: string) =>
  text.replaceAll(`http://HOST:PORT/v1`, gateway.baseUrl).replaceAll('demo', gateway.owner.username);

test('every operation has a sample in each language', () => {
  for (const entry of ENTRIES)
    for (const language of ['curl', 'typescript', 'python'] as const)
      expect(sample(entry, language), `${entry.operation.operationId} in ${language}`).not.toBe('');
});

test('the samples for curl → each succeeds, and gets the response of its example', async () => {
  const blocks = await Promise.all(
    ENTRIES.map(async (entry) => {
      const { operationId } = entry.operation;
      const { audit, correlationId, customerId, tokenId, virtualPan, checkoutId, scheduleId } =
        await values(operationId);
      return [
        `ID=${operationId.endsWith('Schedule') ? scheduleId : checkoutId} AUDIT=${audit} CUSTOMER_ID=${customerId} TOKEN_ID=${tokenId} DATE=2026-11-16 MERCHANT_ID=1`,
        `CORRELATION_ID_LOOKUP=${correlationId}`,
        withToken(sample(entry, 'curl'), virtualPan),
      ].join('\n');
    }),
  );
  const program = [
    `BASE_URL=${gateway.baseUrl} PASSWORD=${gateway.owner.password}`,
    // Not every machine has it.
    "uuidgen() { node -p 'crypto.randomUUID()'; }",
    `curl() { command curl -s -o "$((++asked))" -w '%{http_code}\\n' "$@"; }; asked=0`,
    ...blocks.map(here),
  ].join('\n');
  const folder = await dataDirectory();
  const { stdout } = await promisify(execFile)('bash', ['-euc', program], {
    cwd: folder,
    env: environmentWithoutSettings(),
  });
  const statuses = stdout.trim().split('\n').map(Number);
  expect(statuses).toHaveLength(ENTRIES.length);
  expect(ENTRIES.map(({ operation }, index) => [operation.operationId, statuses[index]])).toEqual(
    ENTRIES.map(({ operation: { operationId, responses } }, index) => [
      operationId,
      Object.keys(responses)
        .map(Number)
        .filter((status) => status < 300)
        .find((status) => status === statuses[index]),
    ]),
  );
  for (const [index, { operation }] of ENTRIES.entries()) {
    const { operationId, responses } = operation;
    const example = responses[statuses[index] as number]?.content?.['application/json']?.example;
    // The day, and so whether anything settles on it, is unknown.
    if (example === undefined || operationId === 'settlementOfDay') continue;
    const answered = membersOf(JSON.parse(readFileSync(join(folder, String(index + 1)), 'utf8')));
    const unheardOf = membersOf(example).filter((member) => !answered.includes(member));
    expect([operationId, unheardOf]).toEqual([operationId, []]);
  }
});

/** The paths of everything in it; what stands in a list is one. */
function membersOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => membersOf(item, `${at}[]`));
  if (typeof value !== 'object' || value === null) return [at];
  return Object.entries(value).flatMap(([name, member]) => membersOf(member, `${at}/${name}`));
}

test('the samples in TypeScript → each runs, and prints its result', async () => {
  const { Tollgate } = await import('../../client/src/index.js');
  const setUp = here(sampleIn(INTRODUCTION, 'typescript')).replace(/^import .*$/m, '');
  const Program = Object.getPrototypeOf(async () => {}).constructor;
  const process = { env: { PASSWORD: gateway.owner.password } };
  const tollgate = await new Program('Tollgate', 'process', `${setUp}\nreturn tollgate;`)(Tollgate, process);
  for (const entry of ENTRIES) {
    const { operationId } = entry.operation;
    const said: unknown[][] = [];
    const { virtualPan, ...made } = await values(operationId);
    const given = { tollgate, console: { log: (...words: unknown[]) => said.push(words) }, ...made };
    const program = withToken(sample(entry, 'typescript'), virtualPan);
    await new Program(...Object.keys(given), program)(...Object.values(given));
    const isDeletion = operationId.startsWith('delete');
    expect([operationId, said.length > 0]).toEqual([operationId, !isDeletion]);
    if (
      entry.operation.responses[201] !== undefined &&
      operationId !== 'findOrCreateCustomer' &&
      operationId !== 'createToken' &&
      operationId !== 'createCheckout' &&
      operationId !== 'createSchedule'
    )
      expect(said[0]).toEqual([expect.any(Number), 'approved']);
  }
});

const isPythonThere =
  spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status === 0;

describe.skipIf(!isPythonThere)(
  `Python${isPythonThere ? '' : ' (skipped: there is no python3 of 3.10 or later)'}`,
  () => {
    test('the samples in Python → each runs, and prints its result', async () => {
      const blocks = await Promise.all(
        ENTRIES.map(async (entry) => {
          const { operationId } = entry.operation;
          const { audit, correlationId, customerId, tokenId, virtualPan, checkoutId, scheduleId } =
            await values(operationId);
          return [
            `print("--", "${operationId}")`,
            `audit, customer_id, token_id, correlation_id = ${audit}, ${customerId}, ${tokenId}, "${correlationId}"`,
            `checkout_id, schedule_id = "${checkoutId}", "${scheduleId}"`,
            withToken(sample(entry, 'python'), virtualPan),
          ].join('\n');
        }),
      );
      const program = [here(sampleIn(INTRODUCTION, 'python')), ...blocks].join('\n');
      const { stdout } = await promisify(execFile)('python3', ['-W', 'error', '-c', program], {
        env: {
          ...environmentWithoutSettings(),
          PYTHONDONTWRITEBYTECODE: '1',
          PYTHONPATH: join(PROJECT_ROOT, 'client', 'python'),
          PASSWORD: gateway.owner.password,
        },
      });
      const said = stdout.split(/^-- /m).slice(1);
      expect(said).toHaveLength(ENTRIES.length);
      for (const [index, { operation }] of ENTRIES.entries()) {
        const [name, ...lines] = (said[index] as string).trim().split('\n');
        expect([name, lines.length > 0]).toEqual([
          operation.operationId,
          !operation.operationId.startsWith('delete'),
        ]);
      }
      expect(said[0]).toMatch(/^createPurchase\n\d+ approved\n/);
    });
  },
);
