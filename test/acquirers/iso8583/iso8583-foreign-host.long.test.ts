// The ISO 8583 link and a host that shares no code with it: the contract of links, every fault that the host knows, and the books of
// both held against each other.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Answer, Finding, Order, Prepared } from '../../../src/acquirers/contract.js';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/dialects/ascii87.js';
import type { Iso8583Link } from '../../../src/acquirers/iso8583/link.js';
import type { LineParts } from '../../../src/acquirers/iso8583/wire/line.js';
import { RetailMac } from '../../../src/acquirers/iso8583/wire/mac.js';
import { luhnDigit } from '../../../src/values/card.js';
import { CARD } from '../../../testkit/client.js';
import { FAULTS } from '../../../testkit/iso8583-host/behaviour.js';
import { dialectNamed } from '../../../testkit/iso8583-host/dialects.js';
import { Host } from '../../../testkit/iso8583-host/host.js';
import { cardAnsweredWith } from '../../../testkit/test-cards.js';
import { linkContract } from '../contract-suite.js';
import { cardPayment, onTarget, prepare, stored } from '../orders.js';
import { linkTo, type Shared, shared } from './link-under-test.js';

const OURS = Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex');
const THEIRS = Buffer.from('7CA110454A1A6E570131D9619DC1376E', 'hex');
const MACS = { sending: new RetailMac(OURS), receiving: new RetailMac(THEIRS) };
const KEYS = { send: THEIRS, receive: OURS };

const VARIANTS = [
  { name: 'as2805', dialect: AS2805, macs: undefined, macKeys: undefined },
  { name: 'as2805 with MACs', dialect: AS2805, macs: MACS, macKeys: KEYS },
  { name: 'ascii87', dialect: ASCII87, macs: undefined, macKeys: undefined },
  { name: 'ascii87 with MACs', dialect: ASCII87, macs: MACS, macKeys: KEYS },
];
type Variant = (typeof VARIANTS)[number];

async function openHost({ dialect, macKeys }: Variant) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-iso-'));
  const host = await Host.open({
    dialect: dialectNamed(dialect.name),
    ledgerPath: join(folder, 'ledger'),
    macKeys,
  });
  let open = true;
  const stop = async () => {
    if (open) await host.close();
    open = false;
  };
  const close = async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { host, stop, close };
}

for (const variant of VARIANTS) {
  const traits = { takes: 'card', inquiries: false, prepares: true } as const;
  linkContract(`ISO 8583 with a host of others, in ${variant.name}`, traits, async () => {
    const { host, stop, close } = await openHost(variant);
    const link = linkTo(host.port, variant.dialect, shared(), { macs: variant.macs });
    return {
      link,
      cardAnsweredWith,
      written: async () => '',
      breakDown: stop,
      cleanUp: close,
    };
  });
}

// One with MACs and one without, in either dialect.
describe.each(VARIANTS.slice(1, 3))('the books of gateway and host, in $name', (variant) => {
  const { dialect, macs } = variant;
  let host: Host;
  let close: () => Promise<void>;
  let common: Shared;
  let link: Iso8583Link;
  beforeEach(async () => {
    ({ host, close } = await openHost(variant));
    common = shared();
    link = makeLink();
    await link.open();
  });
  afterEach(async () => {
    await link.close();
    await close();
  });

  function makeLink(change: Partial<LineParts> = {}): Iso8583Link {
    return linkTo(host.port, dialect, common, { macs, deadlineMs: 250, ...change });
  }

  /** As the resolver does, until it is clear what became of it. */
  async function settled(order: Order, prepared: Prepared): Promise<Answer | Finding | 'reversed'> {
    const answer = await link.ask(order, prepared, () => true);
    if (answer.kind !== 'unknown') return answer;
    const again = stored(order);
    for (let reversing = false; ; await sleep(20)) {
      if (!reversing) {
        const found = await link.inquire(again, prepared);
        if (found.kind === 'no_answer') continue;
        if (found.kind !== 'not_seen') return found;
        reversing = true;
      }
      if ((await link.reverse(again, prepared)) === 'reversed') return 'reversed';
    }
  }

  const positions = () => [...host.books.positions().values()];

  // Those at which the host dies are for a process of its own.
  test.each(Object.entries(FAULTS).filter(([, fault]) => !fault.startsWith('dies')))(
    'fault %s, %s → charged exactly if it is approved in the end',
    async (number, fault) => {
      host.settings.lateMs = 400;
      host.settings.slowMs = 100;
      const digits = `4200000000000${number}`;
      const order = cardPayment(digits + luhnDigit(digits));
      // Something behind it, for a host that answers out of order.
      const [outcome] = await Promise.all([
        prepare(link, order).then((prepared) => settled(order, prepared)),
        // A moment later, so that it is behind.
        sleep(20).then(async () => {
          const other = cardPayment(CARD, { amountCents: '1' });
          return settled(other, await prepare(link, other));
        }),
      ]);
      // What comes late must change nothing any more, which only time shows.
      if (fault === 'late answer') await sleep(host.settings.lateMs);
      const approved = outcome !== 'reversed' && outcome.kind === 'approved';
      expect(positions().filter((each) => each === '1995 charged')).toEqual(approved ? ['1995 charged'] : []);
      expect(host.books.complaints).toEqual([]);
    },
  );

  test('every operation, with half of the answers lost → the link reports what the host has booked', async () => {
    // What is not lost must be answered in time, on a busy machine too.
    await link.close();
    link = makeLink({ deadlineMs: 800 });
    await link.open();
    const expected: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const held = cardPayment(CARD, { operation: 'preauthorisation', amountCents: '900' });
      const prepared = await prepare(link, held);
      const answer = await link.ask(held, prepared, () => true);
      expect(answer.kind).toBe('approved');
      const [mti] = round % 2 === 0 ? [dialect.types.completion.sent] : [dialect.types.financial.sent];
      host.rules.add({ mti, fault: 'lost answer', times: 1 });
      const completion = onTarget('completion', held, { prepared, answer });
      const completing = await prepare(link, completion);
      const completed = await settled(completion, completing);
      expect(completed).toMatchObject({ kind: 'approved' });
      const target = { prepared: completing, answer: completed as Answer };
      const refund = onTarget('refund', completion, target);
      const refunding = await prepare(link, refund);
      const refunded = await settled(refund, refunding);
      expected.push('900 charged');
      if (refunded === 'reversed') continue;
      expected.push('-900 charged');
      if (round % 4 !== 0) continue;
      host.rules.add({ mti: dialect.types.reversal.sent, fault: 'lost answer', times: 1 });
      const voiding = onTarget('void', refund, { prepared: refunding, answer: refunded as Answer });
      expect(await settled(voiding, await prepare(link, voiding))).toMatchObject({ kind: 'approved' });
      expected.pop();
    }
    expect(positions().sort()).toEqual(expected.sort());
    expect(host.books.complaints).toEqual([]);
  });

  test('partial approvals → nothing is charged', async () => {
    const order = cardPayment(cardAnsweredWith('10'));
    expect(await settled(order, await prepare(link, order))).toMatchObject({
      kind: 'declined',
      responseCode: '10',
    });
    expect(positions()).toEqual([]);
    expect(host.books.complaints).toEqual([]);
  });
});
