// The documentation's commands, links, requests, answers and card numbers are true.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import {
  CreatedTransaction,
  LookedUpTransaction,
  SearchResults,
} from '../../src/api/operations/transaction-schemas.js';
import {
  CustomerList,
  CustomerObject,
  TokenList,
  TokenObject,
} from '../../src/api/operations/vault-schemas.js';
import { Errors } from '../../src/api/schemas.js';
import { demoCurl } from '../../src/demo/demo.js';
import { luhnValid } from '../../src/values/card.js';
import { expectEach } from '../../testkit/each-case.js';

const ROOT = new URL('../../', import.meta.url);

const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(new URL('docs', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

function read(page: string): string {
  return readFileSync(new URL(page, ROOT), 'utf8');
}

describe('README.md', () => {
  test.each(['npm ci && npm start', 'npm ci && npm test'])(
    'shows the command %s on a line of its own',
    (command) => {
      expect(read('README.md').split('\n')).toContain(`    ${command}`);
    },
  );

  test('shows the first purchase as the demo prints it', () => {
    const demo = {
      base_url: 'http://127.0.0.1:8080/v1',
      username: 'demo',
      password: '',
      merchants: [1, 2, 3],
    };
    expect(read('README.md')).toContain(demoCurl(demo, 'data'));
  });
});

describe('links', () => {
  test('every page links to files and headings that exist', () =>
    expectEach(PAGES, (page) => {
      const broken = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target]) => target as string)
        .filter((target) => !/^https?:/.test(target))
        .filter((target) => !leadsSomewhere(target, page));
      expect(broken, 'Correct the link, or write what it promises.').toEqual([]);
    }));
});

function leadsSomewhere(target: string, page: string): boolean {
  const url = new URL(target, new URL(page, ROOT));
  if (!existsSync(url)) return false;
  return url.hash === '' || headingsOf(readFileSync(url, 'utf8')).includes(url.hash.slice(1));
}

function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

interface Sent {
  readonly page: string;
  readonly path: string;
  readonly body: string;
}

/** What the shell puts where a page says `'$virtual_pan'`. */
const VIRTUAL_PAN = '9217664744023758';

/** Every request with a body that a page tells the reader to send. */
const SENT: readonly Sent[] = PAGES.flatMap((page) => {
  const text = read(page).replaceAll("'$virtual_pan'", VIRTUAL_PAN);
  const commands = text.replaceAll('\\\n', ' ').split('\n');
  return commands
    .filter((command) => command.includes(" -d '"))
    .map((command) => {
      const [, path = '', body = ''] =
        /(\/(?:transactions|customers)[\w/]*).* -d '([^']+)'/.exec(command) ?? [];
      return { page, path, body };
    });
});

describe('requests', () => {
  test('every request body is accepted by the schema', () =>
    expectEach(SENT, ({ path, body }) => {
      const operation = OPERATIONS.filter(({ method }) => method === 'POST').find(({ route }) =>
        new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[0-9]+')}$`).test(path),
      );
      expect(operation, `There is no operation at ${path}.`).toBeDefined();
      expect(operation?.checkBody(JSON.parse(body))).toEqual([]);
    }));
});

interface Shown {
  readonly page: string;
  readonly first: string;
  readonly text: string;
}

const SHOWN: readonly Shown[] = PAGES.flatMap((page) =>
  [...read(page).matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) => ({
    page,
    first: (text as string).split('\n').slice(0, 2).join(' '),
    text: text as string,
  })),
);

test('all JSON is valid for the interface', () =>
  expectEach(SHOWN, ({ text }) => {
    const value: unknown = JSON.parse(text);
    const answers = [
      CreatedTransaction,
      LookedUpTransaction,
      SearchResults,
      CustomerObject,
      CustomerList,
      TokenObject,
      TokenList,
      Errors,
    ].map((schema) => Compile(schema));
    const isAnswer = answers.some((schema) => schema.Check(value));
    const isRequest = OPERATIONS.some(
      ({ body, checkBody }) => body !== undefined && checkBody(value).length === 0,
    );
    expect(
      isAnswer || isRequest,
      'It is neither a request nor an answer: bring it into step with the schemas in src/api.',
    ).toBe(true);
  }));

test('every card number of the documentation passes the Luhn check', () =>
  expectEach(PAGES, (page) => {
    const numbers = read(page).match(/\b\d{16}\b/g) ?? [];
    expect(numbers.filter((number) => !luhnValid(number))).toEqual([]);
  }));
