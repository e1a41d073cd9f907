// The address of the database, and the servers that it names.
import { expect, test } from 'vitest';
import { serversOf } from '../../src/postgres/database-url.js';

test.each([
  ['postgres://u:p@one:5432/db', ['one:5432']],
  ['postgresql://one,two:6000/db?sslmode=require', ['one', 'two:6000']],
  ['postgres://u:p,q@[::1]:5432,[::2]/db', ['[::1]:5432', '[::2]']],
  ['postgres:///db?host=/var/run/postgresql', ['']],
])('%s → %j', (url, names) => {
  expect(serversOf(url).map(({ name }) => name)).toEqual(names);
});

test('several servers → each has its own address, with the same user, database and parameters', () => {
  expect(serversOf('postgres://u:p@one:1,two:2/db?a=b').map(({ url }) => url)).toEqual([
    'postgres://u:p@one:1/db?a=b',
    'postgres://u:p@two:2/db?a=b',
  ]);
});

test.each([
  ['mysql://one/db', 'must begin with postgres:// or postgresql://'],
  ['postgres://u:secret@one:1,/db', 'one of them does not'],
  ['postgres://u:secret@one:1,two:x/db', 'two:x does not'],
  ['postgres://u:secret@one:0,two/db', 'has a port that does not exist: 0'],
])('%s → refused, and the password is not shown', (url, message) => {
  expect(() => serversOf(url)).toThrow(message);
  expect(() => serversOf(url)).not.toThrow('secret');
});
