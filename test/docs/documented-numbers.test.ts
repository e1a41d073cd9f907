// The limits, times and sizes that the documentation and the texts for clients name are those of the code.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  BODY_LIMIT_BYTES,
  HEADERS_TIMEOUT_MS,
  PAGE_LIMIT,
  REQUEST_TIMEOUT_MS,
} from '../../src/api/limits.js';
import { openApiDocument } from '../../src/api/openapi/openapi.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { DEFAULT_CLEARING_DAYS, DEFAULT_DISPUTE_DAYS } from '../../src/directdebit/direct-entry.js';
import {
  DESCRIPTION_WIDTH,
  LINE_LENGTH,
  REMITTER_WIDTH,
  USER_NAME_WIDTH,
} from '../../src/directdebit/files/aba-line.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { LOOKS_AT_LEAST, LOOKS_AT_MOST, SORTED_AT_MOST } from '../../src/payments/finding/history.js';
import {
  FENCES_WAIT_MS,
  type ProcessTimes,
  processTimes,
} from '../../src/payments/processes/process-times.js';
import {
  ACCOUNT_NAME_MAX_LENGTH,
  ACCOUNT_NUMBER_PATTERN,
  MOST_CENTS,
} from '../../src/values/bank-account.js';
import { CARD_NUMBER_PATTERN, CVV_PATTERN } from '../../src/values/card.js';
import { MAX_AMOUNT_CENTS } from '../../src/values/money.js';
import {
  CORRELATION_ID_MAX_LENGTH,
  KVP_KEY_MAX_LENGTH,
  KVP_VALUE_MAX_LENGTH,
  KVPS_AT_MOST,
} from '../../src/values/text.js';
import { SETTLEMENT_CLOSE } from '../../src/values/time.js';
import { expectEach } from '../../testkit/each-case.js';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** A constant that only its own file knows: `const AHEAD = 100_000;`. */
function constantIn(path: string, name: string): number {
  const [, value] = new RegExp(`^(?:export )?const ${name} = ([\\d_* ]+);`, 'm').exec(read(path)) ?? [];
  if (value === undefined) throw new Error(`${path} has no number ${name}`);
  return value
    .split('*')
    .map((factor) => Number(factor.replaceAll('_', '')))
    .reduce((product, factor) => product * factor);
}

/** With the default timeout and with the shortest. */
const timesOf = (name: keyof ProcessTimes) => [
  processTimes(readSettings({}).processTimeoutMs)[name] / 1_000,
  processTimes(1_500)[name] / 1_000,
];

const seconds = (path: string, name: string) => constantIn(path, name) / 1_000;

/** The lengths that a pattern allows: `{12,19}`. */
function lengthsOf(pattern: string): number[] {
  const [, least, most] = /\{(\d+),(\d+)\}/.exec(pattern) ?? [];
  return [Number(least), Number(most)];
}

/** The lengths of a text, as the OpenAPI document has them. */
function lengthsIn(schema: string, field: string): number[] {
  const { properties } = openApiDocument(OPERATIONS).components.schemas[schema] as {
    properties: Record<string, { minLength: number; maxLength: number }>;
  };
  return [properties[field]?.minLength as number, properties[field]?.maxLength as number];
}

const SESSIONS = [
  ...read('src/gateway/database/databases.ts').matchAll(/#add\('[^']+', \{\s*maxConnections: (\w+)/g),
]
  .map(([, count = '']) =>
    /^\d+$/.test(count) ? Number(count) : constantIn('src/gateway/database/databases.ts', count),
  )
  .reduce((sum, count) => sum + count);
const PREAUTHORISATION_DAYS = Number(
  /preauthorisation_days integer NOT NULL DEFAULT (\d+)/.exec(read('schema/02-organisations.sql'))?.[1],
);
const { correlationIdHours, acquirerDeadlineMs, simulatorSlowMs, host, port } = readSettings({});
const BODY_KIB = BODY_LIMIT_BYTES / 1024;
const AMOUNT_DIGITS = String(MAX_AMOUNT_CENTS).length;
const BANK_DIGITS = lengthsOf(ACCOUNT_NUMBER_PATTERN);
const CLOSE_HOUR = Number(SETTLEMENT_CLOSE.replace(':00', ''));
const MOST_DOLLARS = MOST_CENTS / 100;
const WAITING_FILE = 'src/http/connection-queue.ts';
const REGISTRY_FILE = 'src/payments/processes/process-registry.ts';
const BLOCKS = ['SMALLEST_BLOCK', 'LARGEST_BLOCK'].map((name) =>
  constantIn('src/payments/processes/process-registry.ts', name),
);

/** What a page says, with `#` for each number; and the numbers of the code. */
const SAID: readonly (readonly [page: string, words: string, ...numbers: number[]])[] = [
  ['docs/api.md', 'Bodies are JSON, at most # KiB', BODY_KIB],
  ['docs/api.md', '`X-Correlation-Id`: 1 to # letters', CORRELATION_ID_MAX_LENGTH],
  ['docs/api.md', 'at most # pairs to keep', KVPS_AT_MOST],
  ['docs/api.md', 'Keys: 1 to # letters, digits', KVP_KEY_MAX_LENGTH],
  ['docs/api.md', 'values: up to # characters', KVP_VALUE_MAX_LENGTH],
  [
    'docs/api.md',
    '`reference` | # to # characters, for you',
    ...lengthsIn('AmountRequestTransaction', 'reference'),
  ],
  ['docs/api.md', 'a string of 1 to # digits', AMOUNT_DIGITS],
  ['docs/api.md', 'more than # digits', AMOUNT_DIGITS],
  ['docs/api.md', '`pan` | # to # digits', ...lengthsOf(CARD_NUMBER_PATTERN)],
  ['docs/api.md', '`cvv` | # or # digits', ...lengthsOf(CVV_PATTERN)],
  ['docs/api.md', 'After # days (or what the operator', PREAUTHORISATION_DAYS],
  ['docs/api.md', 'until #:00 Sydney time of its `settlement_date`', CLOSE_HOUR],
  ['docs/api.md', 'usually at #:00 Sydney time', CLOSE_HOUR],
  ['docs/api.md', '`account_number` | # to # digits', ...BANK_DIGITS],
  ['docs/api.md', '`account_name` | 1 to # characters', ACCOUNT_NAME_MAX_LENGTH],
  ['docs/api.md', 'amount at most #.', MOST_CENTS],
  ['docs/api.md', 'customer `reference` | # to # characters', ...lengthsIn('NewCustomer', 'reference')],
  ['docs/api.md', 'customer `name` | # to # characters', ...lengthsIn('NewCustomer', 'name')],
  ['docs/api.md', '`preferred_name` | # to # characters', ...lengthsIn('NewToken', 'preferred_name')],
  ['docs/api.md', '`MMYY`, # to # characters', ...lengthsIn('GeneralCreditcard', 'CARD.NAME')],
  ['docs/api.md', '# to # digits, 1 to # characters', ...BANK_DIGITS, ACCOUNT_NAME_MAX_LENGTH],
  ['docs/api.md', '`limit` entries (1 to #, default #)', PAGE_LIMIT, PAGE_LIMIT],
  ['docs/api.md', 'is open, and for # hours', correlationIdHours],
  ['docs/api.md', 'the gateway gives the acquirer: # seconds', acquirerDeadlineMs / 1_000],
  [
    'docs/errors.md',
    '(# seconds for the headers, # for everything)',
    HEADERS_TIMEOUT_MS / 1_000,
    REQUEST_TIMEOUT_MS / 1_000,
  ],
  ['docs/errors.md', 'larger than # KiB', BODY_KIB],
  ['docs/decisions.md', 'ends # hours (configurable)', correlationIdHours],
  ['docs/decisions.md', 'a leading zero, 1 to # digits', AMOUNT_DIGITS],
  ['docs/decisions.md', 'The limit of # characters counts without it', KVP_KEY_MAX_LENGTH],
  ['docs/decisions.md', 'A body may have # KiB**, so that # KVPs', BODY_KIB, KVPS_AT_MOST],
  ['docs/decisions.md', 'be completed for # days', PREAUTHORISATION_DAYS],
  ['docs/decisions.md', 'closes at #:00 Sydney time', CLOSE_HOUR],
  [
    'docs/decisions.md',
    'the client gets 504 # seconds after',
    seconds('src/payments/pipeline/record.ts', 'PATIENCE_MS'),
  ],
  ['docs/decisions.md', 'Cleared after # business days', DEFAULT_CLEARING_DAYS],
  ['docs/decisions.md', 'for # days (the operator can change it)', DEFAULT_DISPUTE_DAYS],
  [
    'docs/decisions.md',
    'more than # seconds, only so many are taken in',
    seconds('src/payments/pipeline/capacity.ts', 'BURST_MS'),
  ],
  ['docs/decisions.md', 'has to come whole within # seconds', REQUEST_TIMEOUT_MS / 1_000],
  ['docs/api.md', 'at up to # transactions, and once it has looked at # only', LOOKS_AT_MOST, LOOKS_AT_LEAST],
  [
    'docs/decisions.md',
    'looks at # transactions at most**, or at # with the reference that was asked for, and past # for',
    LOOKS_AT_MOST,
    SORTED_AT_MOST,
    LOOKS_AT_LEAST,
  ],
  [
    'docs/decisions.md',
    'its answer has to be read within #.',
    seconds('src/http/connections.ts', 'READING_MS'),
  ],
  ['docs/decisions.md', 'Where more than # wait', constantIn(WAITING_FILE, 'ENOUGH_WAITING')],
  ['docs/decisions.md', 'Only if more than # wait', constantIn(WAITING_FILE, 'MOST_WAITING_IN_ALL')],
  ['docs/decisions.md', 'is what is past # on one connection', constantIn(WAITING_FILE, 'ENOUGH_WAITING')],
  [
    'docs/decisions.md',
    'cached for up to # seconds',
    seconds('src/organisations/users/callers.ts', 'STALE_MS'),
  ],
  ['docs/decisions.md', 'answered after # seconds', simulatorSlowMs / 1_000],
  ['docs/operations.md', 'A burst of # seconds', seconds('src/payments/pipeline/capacity.ts', 'BURST_MS')],
  ['docs/operations.md', 'It uses up to # connections for each process', SESSIONS],
  ['docs/backups.md', 'moves them by # itself', constantIn(REGISTRY_FILE, 'AHEAD')],
  [
    'docs/logs.md',
    'longer than # MB of log',
    constantIn('src/gateway/observability/log-output.ts', 'MOST_WAITING_BYTES') / 1024 ** 2,
  ],
  [
    'docs/commands.md',
    "# seconds after the acquirer's deadline",
    seconds('src/payments/requests/operator-requests.ts', 'FURTHER_PATIENCE_MS'),
  ],
  [
    'docs/operations.md',
    'deadline and # seconds',
    seconds('src/gateway/stopping.ts', 'AFTER_THE_DEADLINE_MS'),
  ],
  [
    'docs/commands.md',
    'known to every process within # seconds',
    seconds('src/organisations/users/callers.ts', 'STALE_MS'),
  ],
  ['docs/directdebit.md', 'cleared | # business days', DEFAULT_CLEARING_DAYS],
  ['docs/directdebit.md', 'own day, at #:00 Sydney time', CLOSE_HOUR],
  ['docs/directdebit.md', 'a business day closes (#:00 in Sydney)', CLOSE_HOUR],
  [
    'docs/directdebit.md',
    'returns items # business day later',
    constantIn('src/directdebit/clearing.ts', 'RETURNED_AFTER_DAYS'),
  ],
  ['docs/directdebit.md', 'that the bank knows, up to # characters', USER_NAME_WIDTH],
  ['docs/directdebit.md', 'what the file is for, up to # characters', DESCRIPTION_WIDTH],
  ['docs/directdebit.md', "on the customer's statement, up to # characters", REMITTER_WIDTH],
  ['docs/directdebit.md', 'counts as cleared (default #)', DEFAULT_CLEARING_DAYS],
  ['docs/directdebit.md', 'is still taken (default #)', DEFAULT_DISPUTE_DAYS],
  ['docs/directdebit.md', 'A file holds at most # dollars', MOST_DOLLARS],
  ['docs/directdebit.md', 'amounts over # dollars', MOST_DOLLARS],
  ['docs/directdebit.md', 'lines of # characters', LINE_LENGTH],
  [
    'docs/directdebit.md',
    'statement, has # characters',
    3 * constantIn('src/directdebit/files/lodgement-reference.ts', 'WIDTH'),
  ],
  ['docs/architecture/payments.md', '# at first and up to # when', ...BLOCKS],
  ['docs/operations.md', 'if that is shorter | # s | # s |', ...timesOf('heartbeatEveryMs')],
  ['docs/operations.md', 'its last committed heartbeat | # s | # s |', ...timesOf('staleAfterMs')],
  ['docs/operations.md', 'T after that heartbeat | # s | # s |', ...timesOf('presumedDeadAfterMs')],
  ['docs/operations.md', 'and after # seconds at the latest', processTimes(600_000).staleAfterMs / 1_000],
  [
    'docs/operations.md',
    '# seconds after the heartbeat | # s | # s |',
    ...Array(3).fill(FENCES_WAIT_MS / 1_000),
  ],
  ['docs/architecture/payments.md', 'moves every counter ahead by #.', constantIn(REGISTRY_FILE, 'AHEAD')],
  [
    'docs/architecture/payments.md',
    'the oldest, # a second',
    constantIn('src/payments/doubt/sweep.ts', 'AUDITS'),
  ],
  [
    'docs/architecture/payments.md',
    '504 after # seconds',
    seconds('src/payments/pipeline/record.ts', 'PATIENCE_MS'),
  ],
  ['docs/architecture/http.md', 'past # stays in the socket', constantIn(WAITING_FILE, 'ENOUGH_WAITING')],
  ['src/api/operations/transactions.ts', 'for # hours after it was decided', correlationIdHours],
  ['src/api/operations/transactions.ts', '(# days by default)', PREAUTHORISATION_DAYS],
  ['src/reference/template/introduction.html', 'for # hours after it was last decided', correlationIdHours],
  ['src/reference/template/introduction.html', 'within those # hours', correlationIdHours],
  ['docs/first-steps.md', 'After # seconds the gateway', acquirerDeadlineMs / 1_000],
  ['docs/first-steps.md', 'approved after # seconds', simulatorSlowMs / 1_000],
  ['docs/first-steps.md', `http://${host}:#/v1`, port],
];

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const NUMBER = `(${WORDS.join('|')}|\\d[\\d,]*(?:\\.\\d+)?)`;

function numberOf(text: string): number {
  return WORDS.includes(text.toLowerCase())
    ? WORDS.indexOf(text.toLowerCase())
    : Number(text.replaceAll(',', ''));
}

const ROWS = SAID.map(([page, words, ...numbers]) => ({ page, words, numbers }));

test('every number in the documentation matches the code', () =>
  expectEach(ROWS, ({ page, words, numbers }) => {
    const pattern = words
      .split('#')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '\\s+'))
      .join(NUMBER);
    const found = [...read(page).matchAll(new RegExp(pattern, 'gi'))];
    expect(found, `${page} no longer says this: bring it and the list in this test into step.`).not.toEqual(
      [],
    );
    for (const [, ...said] of found) expect(said.map(numberOf)).toEqual(numbers);
  }));
