// The reference page agrees with docs/, and shows the answers of every operation and the advice for every error.
import { expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/openapi/openapi.js';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { PROBLEMS } from '../../src/api/problems.js';
import { GUIDES } from '../../src/reference/guides.js';
import { referencePage } from '../../src/reference/page.js';
import { textOf } from '../../testkit/page-text.js';
import { read } from '../../testkit/project-files.js';

const DOCUMENT = openApiDocument(OPERATIONS);
const PAGE = referencePage(DOCUMENT);
const text = textOf(PAGE);

test('every operation shows the response of each of its statuses', () => {
  for (const { id, method, route } of OPERATIONS) {
    const section = PAGE.slice(PAGE.indexOf(`id="op-${id}"`)).split('</section>')[0] as string;
    const { responses = {} } = DOCUMENT.paths[route]?.[method.toLowerCase()] ?? {};
    const bodied = Object.entries(responses).filter(([, { content }]) => content !== undefined);
    expect(bodied.length).toBeGreaterThan(8);
    for (const [status] of bodied) expect(section).toContain(`<figcaption>Answer ${status}</figcaption>`);
  }
});

test('every error code has the advice of docs/errors.md', () => {
  const section = text.split('All error codes, and what to do')[1]?.split('What can be done next')[0];
  const rows = [...read('docs/errors.md').matchAll(/^\| \d{3} \| `(\w+)` \| .* \| (.*) \|$/gm)];
  expect(rows).toHaveLength(Object.keys(PROBLEMS).length);
  for (const [, , whatToDo = ''] of rows)
    expect(section).toContain(whatToDo.replaceAll('`', '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
});

test('guides, test cards, events and webhooks are those of docs/', () => {
  for (const { id, title } of GUIDES) {
    expect(PAGE).toContain(`<section class="guide" id="${id}">`);
    expect(PAGE).toContain(`<a href="#${id}">${title}</a>`);
  }
  for (const words of [
    'wait out your own time-out before you search',
    '4200000000000034approved, but the answer is lost',
    'Check the signature before you believe anything',
    'transaction.unknownIts outcome is in doubt',
    'Idempotency-KeyX-Correlation-Id',
  ])
    expect(text.replaceAll(/\s+/g, ' ')).toContain(words);
});

test('the page agrees with docs/: 503, how long an ID stays used, the version, no port of its own', () => {
  expect(text).toMatch(/503: certainly not processed/);
  expect(text).toContain('the ID itself is never free');
  expect(text).not.toMatch(/5XX: the outcome|forgets an ID/);
  // Of the interface, whatever the program's is.
  expect(DOCUMENT.info.version).toBe('1.0.0');
  expect(PAGE).toContain('<small>1.0.0</small>');
  expect(PAGE).toContain('BASE_URL=<span data-origin>');
});
