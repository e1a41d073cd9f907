// The links of a process: which are open, and that none of them can hold up a start or a stop.
import { afterEach, expect, test, vi } from 'vitest';
import type { AcquirerLink } from '../../src/acquirers/contract.js';
import { DirectDebit } from '../../src/acquirers/direct-debit.js';
import { AcquirerLinks } from '../../src/acquirers/links.js';
import { makeLinks, simulatedLinks } from '../../src/acquirers/registry.js';

const never = () => new Promise<never>(() => {});
const PATIENTLY = { timeout: 300_000 };
const made: AcquirerLinks[] = [];
afterEach(() => Promise.all(made.splice(0).map((links) => links.close())));

function link(name: string, change: Partial<AcquirerLink> = {}): AcquirerLink {
  return Object.assign(DirectDebit.toOwnBank(), { name }, change);
}

function linksOf(...links: AcquirerLink[]) {
  const told: string[] = [];
  const all = new AcquirerLinks(links, {
    patienceMs: 50,
    firstPauseMs: 1,
    longestPauseMs: 2,
    onRefused: (name, reason) => told.push(`${name}: ${(reason as Error).message}`),
    onOpened: (name) => told.push(`${name} is open`),
  });
  made.push(all);
  return { all, told };
}

test('a link that opens → listed before, open afterwards, and nothing logged', async () => {
  const good = link('good');
  const { all, told } = linksOf(good);
  expect([all.known('good'), all.opened('good')]).toEqual([good, undefined]);
  await all.open();
  expect([all.opened('good'), all.opened('other')]).toEqual([good, undefined]);
  expect(told).toEqual([]);
});

test('a link that refuses a few times → the start goes on, the link opens in the end; each change is logged once', async () => {
  let refusals = 4;
  const refusing = link('refusing', {
    open: async () => {
      refusals -= 1;
      if (refusals >= 0) throw new Error('no');
    },
  });
  const { all, told } = linksOf(refusing, link('good'));
  await all.open();
  expect([all.known('refusing'), all.opened('refusing')]).toEqual([refusing, undefined]);
  expect(all.opened('good')).toBeDefined();
  await vi.waitUntil(() => all.opened('refusing'), PATIENTLY);
  expect(told).toEqual(['refusing: no', 'refusing is open']);
});

test('a link that opens slowly → the start goes on, and no second attempt is made meanwhile', async () => {
  let opens = 0;
  let open = () => {};
  const slow = link('slow', {
    open: () => {
      opens += 1;
      return new Promise((resolve) => {
        open = resolve;
      });
    },
  });
  const { all, told } = linksOf(slow);
  await all.open();
  expect(all.opened('slow')).toBeUndefined();
  open();
  await vi.waitUntil(() => all.opened('slow'), PATIENTLY);
  expect([opens, told]).toEqual([1, ['slow: not open within 50 ms', 'slow is open']]);
});

test('stopped while a link refuses → no further attempt; a link that does not close does not delay the stop', async () => {
  let opens = 0;
  const refusing = link('refusing', {
    open: async () => {
      opens += 1;
      throw new Error('no');
    },
    close: never,
  });
  const failing = link('failing', {
    close: () => {
      throw new Error('cannot close');
    },
  });
  const { all } = linksOf(refusing, failing);
  await all.open();
  await all.close();
  const before = opens;
  // Many times as long as it waits before it tries again: that it does not only time shows.
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(opens).toBe(before);
  expect(all.opened('failing')).toBeUndefined();
});

test('two links with the same name → the later one replaces the earlier', () => {
  const [first, second] = [link('same'), link('same')];
  expect(linksOf(first, second).all.known('same')).toBe(second);
});

test('the registry → a simulator and two banks, each with its own name; the simulated ones are test links', () => {
  const links = makeLinks({ simulatorLedger: '/nowhere/at/all', simulatorSlowMs: 0, acquirerDeadlineMs: 1 });
  expect(links.map(({ name, mode }) => [name, mode])).toEqual([
    ['simulator', 'test'],
    ['directdebit', 'of_merchant'],
    ['simulated-bank', 'test'],
  ]);
  expect(simulatedLinks()).toEqual(['simulator', 'simulated-bank']);
});
