import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readSettings, SettingsError } from '../../src/cli/settings.js';

const PAGE = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

interface Row {
  readonly name: string;
  /** Undefined where there is none. */
  readonly byDefault: string | undefined;
  readonly allowed: string;
}

const ROWS: readonly Row[] = [
  ...PAGE.matchAll(/^\| `(DATABASE_URL|TOLLGATE_\w+)` \| (?:none|`([^`]+)`) \| (.*?) \| .+ \|$/gm),
].map(([, name, byDefault, allowed]) => ({ name: name as string, byDefault, allowed: allowed as string }));

/** Every variable that the settings look at. */
function namesRead(): Set<string> {
  const names = new Set<string>();
  readSettings(
    new Proxy<Record<string, string>>(
      {},
      {
        get(_, name) {
          names.add(String(name));
          return undefined;
        },
      },
    ),
  );
  return names;
}

test('docs/operations.md lists exactly the settings that the gateway reads', () => {
  const read = [...namesRead()].filter((name) => !name.endsWith('_FILE'));
  expect(
    ROWS.map(({ name }) => name).sort(),
    'Bring the table in docs/operations.md and src/cli/settings.ts into step.',
  ).toEqual(read.sort());
});

test('every setting can be given as a file too', () => {
  const read = namesRead();
  expect(ROWS.filter(({ name }) => !read.has(`${name}_FILE`))).toEqual([]);
});

test.each(
  ROWS.flatMap(({ name, byDefault }) => (byDefault === undefined ? [] : [[name, byDefault] as const])),
)('%s set to its documented default, %s, changes nothing', (name, byDefault) => {
  expect(readSettings({ [name]: byDefault })).toEqual(readSettings({}));
});

test('a setting without a documented default is undefined when it is not set', () => {
  const { databaseUrl, crashAt } = readSettings({});
  expect([databaseUrl, crashAt]).toEqual([undefined, undefined]);
  const without = ROWS.filter(({ byDefault }) => byDefault === undefined).map(({ name }) => name);
  expect(without).toEqual(['DATABASE_URL', 'TOLLGATE_CRASH_AT']);
});

const RANGES = ROWS.flatMap(({ name, allowed }) => {
  const range = /^(\d+) to (\d+)$/.exec(allowed);
  return range === null ? [] : [{ name, least: Number(range[1]), most: Number(range[2]) }];
});

test.each(RANGES)('$name takes $least to $most, as documented', ({ name, least, most }) => {
  for (const value of [least, most]) expect(() => readSettings({ [name]: String(value) })).not.toThrow();
  for (const value of [least - 1, most + 1]) {
    expect(() => readSettings({ [name]: String(value) })).toThrow(SettingsError);
  }
});

test('every number among the settings has a documented range', () => {
  const numbers = ROWS.filter(({ byDefault }) => byDefault !== undefined && /^\d+$/.test(byDefault));
  expect(RANGES.map(({ name }) => name)).toEqual(numbers.map(({ name }) => name));
});
