// Connections that organisations share: no organisation waits behind all of another's statements.
import { expect, test } from 'vitest';
import type { Database, Statement } from '../../src/postgres/database.js';
import { FairConnections, type FairConnectionsOptions } from '../../src/postgres/fair-connections.js';
import type { OrganisationId } from '../../src/values/ids.js';

const WORK: Statement = { name: '', text: '' };

/** Work that goes on until it is finished by the test, in the order in which it began. */
function sharedBy(options: Partial<FairConnectionsOptions>) {
  const begun: { label: unknown; finish: () => void }[] = [];
  const database = {
    query: (_statement: Statement, [label]: readonly unknown[] = []) =>
      new Promise((resolve) => begun.push({ label, finish: () => resolve({ rows: [], count: 0 }) })),
  };
  const connections = new FairConnections(database as unknown as Database, {
    connections: 2,
    perOrganisation: 2,
    maxWaiting: 10,
    maxWaitMs: 60_000,
    ...options,
  });
  const labels = () => begun.map(({ label }) => label);
  const ask = (organisationId: number, label: string) =>
    connections.of(organisationId as OrganisationId).query(WORK, [label]);
  const finish = async (label: string, then: number) => {
    begun.find((work) => work.label === label)?.finish();
    await expect.poll(() => begun.length).toBe(then);
  };
  return { ask, labels, finish };
}

test('one organisation with much work, another that comes later with one statement → that one is next', async () => {
  const { ask, labels, finish } = sharedBy({});
  for (const label of ['a1', 'a2', 'a3', 'a4']) void ask(1, label);
  void ask(2, 'b1');
  expect(labels()).toEqual(['a1', 'a2']);
  await finish('a1', 3);
  await finish('a2', 4);
  // In turns: the first organisation was the first to wait.
  expect(labels()).toEqual(['a1', 'a2', 'a3', 'b1']);
});

test('one organisation has its maximum → another begins at once', () => {
  const { ask, labels } = sharedBy({ connections: 3, perOrganisation: 2 });
  for (const label of ['a1', 'a2', 'a3']) void ask(1, label);
  void ask(2, 'b1');
  expect(labels()).toEqual(['a1', 'a2', 'b1']);
});

test('more of one organisation than may wait → refused, and another organisation may still wait', async () => {
  const { ask, labels, finish } = sharedBy({ connections: 1, perOrganisation: 1, maxWaiting: 1 });
  void ask(1, 'a1');
  void ask(1, 'a2');
  await expect(ask(1, 'a3')).rejects.toMatchObject({ code: 'not_processed' });
  void ask(2, 'b1');
  await finish('a1', 2);
  await finish('a2', 3);
  expect(labels()).toEqual(['a1', 'a2', 'b1']);
});

test('a statement that has waited too long → refused when its turn comes, and the next one begins', async () => {
  const { ask, labels, finish } = sharedBy({ connections: 1, perOrganisation: 1, maxWaitMs: -1 });
  void ask(1, 'a1');
  const late = expect(ask(1, 'a2')).rejects.toMatchObject({ code: 'not_processed' });
  await finish('a1', 1);
  await late;
  void ask(1, 'a3');
  expect(labels()).toEqual(['a1', 'a3']);
});
