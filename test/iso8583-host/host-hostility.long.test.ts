// How the test host forgets reversals, refuses them, lets connections stand still, repeats itself and lies; and what its books say then.
import { expect, onTestFinished, test } from 'vitest';
import {
  following,
  type IsoClient,
  networkMessage,
  nextStan,
  payment,
} from '../../testkit/iso8583-host/client.js';
import type { Message } from '../../testkit/iso8583-host/codec.js';
import type { Host } from '../../testkit/iso8583-host/host.js';
import { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import { cardWithFault } from '../../testkit/test-cards.js';
import {
  charged,
  codeOf,
  complaints,
  expectSilence,
  newLedgerPath,
  openBoth,
  signedOn,
  stanOf,
} from './open-host.js';

/** A host, and two connections to it in the order of their numbers. */
async function openTwo(): Promise<{ host: Host; first: IsoClient; second: IsoClient }> {
  const { host, client: first } = await openBoth();
  return { host, first, second: await signedOn({ port: host.port }) };
}

const numbersOf = (host: Host) => [...host.connections].map(({ number }) => number);
const again = (first: Message): Message => ({ ...first, mti: first.mti.replace(/0$/, '1') });
const about = (answer: Message | undefined) => [answer?.mti, answer?.fields.get(41), stanOf(answer)];

test('an unseen reversal, remembered → the late payment is not charged', async () => {
  const { host, client } = await openBoth();
  const purchase = payment('0200');
  expect(codeOf(await client.ask(following('0420', purchase)))).toBe('25');
  expect(codeOf(await client.ask(purchase))).toBe('12');
  expect(charged(host)).toEqual([]);
});

test('an unseen reversal, forgotten → the late payment is charged, and reversed by the next reversal', async () => {
  const { host, client } = await openBoth();
  host.set({ unseenReversals: 'forgotten' });
  const purchase = payment('0200');
  const reversal = following('0420', purchase);
  expect(codeOf(await client.ask(reversal))).toBe('25');
  expect(codeOf(await client.ask(again(reversal)))).toBe('25');
  expect(codeOf(await client.ask(purchase))).toBe('00');
  expect(charged(host)).toEqual(['1995 charged']);
  expect(codeOf(await client.ask(again(reversal)))).toBe('00');
  expect(charged(host)).toEqual([]);
  expect(codeOf(await client.ask(following('0420', purchase)))).toBe('21');
  expect(complaints(host)).toEqual([]);
});

test('a refund whose reversal was forgotten → another refund is refused; the complaint is about the host only', async () => {
  const { host, client } = await openBoth();
  host.set({ unseenReversals: 'forgotten' });
  const purchase = payment('0200');
  await client.ask(purchase);
  const refund = () => following('0200', purchase, { 3: '200000', 22: '102', 25: '59' });
  const [late, next] = [refund(), refund()];
  expect(codeOf(await client.ask(following('0420', late)))).toBe('25');
  expect(codeOf(await client.ask(late))).toBe('00');
  expect(codeOf(await client.ask(next))).toBe('12');
  expect(complaints(host)).toEqual([]);
  expect(codeOf(await client.ask(following('0420', late)))).toBe('00');
  expect(codeOf(await client.ask(refund()))).toBe('00');
  expect(codeOf(await client.ask(refund()))).toBe('12');
  expect(complaints(host)).toHaveLength(1);
});

test('one unseen reversal forgotten because of a rule → only that payment is charged', async () => {
  const { host, client } = await openBoth();
  host.rules.add({ kind: 'reversal', code: '25', times: 1 });
  const [forgotten, remembered] = [payment('0200'), payment('0200', { 4: '000000000700' })];
  for (const one of [forgotten, remembered]) await client.ask(following('0420', one));
  for (const one of [forgotten, remembered]) await client.ask(one);
  expect(charged(host)).toEqual(['1995 charged']);
});

test('killed after it forgot a reversal → still does not know it', async () => {
  const host = await HostProcess.start({ ledgerPath: newLedgerPath() });
  onTestFinished(() => host.kill());
  await host.set({ unseenReversals: 'forgotten' });
  const purchase = payment('0200');
  await (await signedOn(host)).ask(following('0420', purchase));
  await host.kill();
  await host.restart();
  expect(codeOf(await (await signedOn(host)).ask(purchase))).toBe('00');
  expect(Object.values(await host.positions())).toEqual(['1995 charged']);
});

test('a connection whose reads are stalled → the other one is served; later it is read, in order', async () => {
  const { host, first, second } = await openTwo();
  const [, number = 0] = numbersOf(host);
  expect(host.stall({ of: 'reads', connections: [number] })).toEqual([number]);
  const [one, other] = [payment('0200'), payment('0200')];
  second.send(one);
  second.send(other);
  await expectSilence(first);
  expect(charged(host)).toEqual([]);
  expect([...host.connections].map(({ isStalled }) => isStalled)).toEqual([false, true]);
  host.goOn();
  expect([stanOf(await second.next()), stanOf(await second.next())]).toEqual([stanOf(one), stanOf(other)]);
  expect(charged(host)).toEqual(['1995 charged', '1995 charged']);
});

test('a stalled payment: reversed over the other connection, the reversal forgotten, then read and charged', async () => {
  const { host, first, second } = await openTwo();
  host.set({ unseenReversals: 'forgotten' });
  host.stall({ of: 'reads', connections: 'all but one' });
  const purchase = payment('0200');
  second.send(purchase);
  expect(codeOf(await first.ask(following('0420', purchase)))).toBe('25');
  host.goOn();
  expect(codeOf(await second.next())).toBe('00');
  expect(charged(host)).toEqual(['1995 charged']);
});

test('a stalled payment whose client is gone → still read and charged', async () => {
  const { host, first, second } = await openTwo();
  host.stall({ of: 'reads', connections: 'all but one' });
  second.send(payment('0200'));
  second.send(payment('0200'));
  second.end();
  await expectSilence(first);
  expect(charged(host)).toEqual([]);
  host.goOn();
  await second.closed;
  expect(charged(host)).toEqual(['1995 charged', '1995 charged']);
});

test('a card that stalls its connection → messages behind it wait, even its reversal', async () => {
  const { host, first, second } = await openTwo();
  host.set({ stallMs: 100 });
  const purchase = payment('0200', { 2: cardWithFault('20') });
  first.send(purchase);
  const reversal = following('0420', purchase);
  first.send(reversal);
  await expectSilence(second);
  expect([stanOf(await first.next()), stanOf(await first.next())]).toEqual([
    stanOf(purchase),
    stanOf(reversal),
  ]);
  expect(charged(host)).toEqual([]);
});

test('a stalled advice, repeated over another connection → done once, no complaint', async () => {
  const { host, first, second } = await openTwo();
  const held = payment('0100');
  const authorisation = (await first.ask(held))?.fields.get(38);
  const completion = following('0220', held, { 38: authorisation });
  host.stall({ of: 'reads', connections: 'all but one' });
  second.send(completion);
  expect(codeOf(await first.ask(again(completion)))).toBe('00');
  host.goOn();
  expect(codeOf(await second.next())).toBe('00');
  expect(charged(host)).toEqual(['1995 charged']);
  expect(complaints(host)).toEqual([]);
});

test('stalled answers → booked at once, answered later, in order, the echo too', async () => {
  const { host, client } = await openBoth();
  host.stall({ of: 'answers', connections: 'all', ms: 100 });
  const purchase = payment('0200');
  client.send(purchase);
  client.send(networkMessage('301'));
  expect([(await client.next())?.mti, (await client.next())?.mti]).toEqual(['0210', '0810']);
  expect(charged(host)).toEqual(['1995 charged']);
});

test('every second new connection → stalled once it is signed on', async () => {
  const { host } = await openBoth();
  host.set({ stallOfEverySecond: { of: 'reads' } });
  // The one before counts.
  const second = await signedOn({ port: host.port });
  const third = await signedOn({ port: host.port });
  await expectSilence(third);
  expect([...host.connections].map(({ isStalled }) => isStalled)).toEqual([false, true, false]);
  host.goOn();
  await expectSilence(second);
});

test('answered again later → the same answer, after others', async () => {
  const { host, client } = await openBoth();
  host.set({ lateMs: 100 });
  host.rules.add({ fault: 'answered again later', times: 1 });
  const first = await client.ask(payment('0200'));
  await expectSilence(client);
  expect(await client.next()).toEqual(first);
  expect(charged(host)).toEqual(['1995 charged']);
});

test('stray approvals → for STANs and terminals never used, then the right answer; none is charged', async () => {
  const { host, client } = await openBoth();
  await client.ask(payment('0200', { 41: 'TERM0002', 4: '000000000700' }));
  host.rules.add({ fault: 'stray approvals', times: 1 });
  const purchase = payment('0200');
  client.send(purchase);
  const told = [await client.next(), await client.next(), await client.next()];
  expect(told.map(about)).toEqual([
    ['0210', 'NOBODY01', stanOf(purchase)],
    ['0210', 'TERM0001', '999998'],
    ['0210', 'TERM0002', '999998'],
  ]);
  expect(about(await client.next())).toEqual(['0210', 'TERM0001', stanOf(purchase)]);
  expect(charged(host)).toEqual(['700 charged', '1995 charged']);
});

test('answers for others → an approval of another payment, with the reference of this one; it is not charged', async () => {
  const { host, client } = await openBoth();
  host.rules.add({ amountCents: 700, fault: 'held answer', code: '05', times: 1 });
  const pending = payment('0200', { 41: 'TERM0002', 4: '000000000700' });
  client.send(pending);
  host.rules.add({ fault: 'answers for others', times: 1 });
  const purchase = payment('0200');
  const lie = await client.ask(purchase);
  expect([about(lie), codeOf(lie)]).toEqual([['0210', 'TERM0002', stanOf(pending)], '00']);
  expect(lie?.fields.get(37)).toBe(purchase.fields.get(37));
  expect(about(await client.next())).toEqual(['0210', 'TERM0001', stanOf(purchase)]);
  host.release();
  expect(codeOf(await client.next())).toBe('05');
  expect(charged(host)).toEqual(['1995 charged']);
});

test('told to send a message → sent over the named connections', async () => {
  const { host, first, second } = await openTwo();
  const fields = { 11: nextStan(), 38: '123456', 39: '00', 41: 'TERM0001' };
  host.say({ mti: '0210', fields, connections: numbersOf(host).slice(1) });
  expect(about(await second.next())).toEqual(['0210', 'TERM0001', fields[11]]);
  await expectSilence(first);
  expect(charged(host)).toEqual([]);
});

test.each(['30', '68', '91', '96', '05'])(
  'reversals refused with %s, the first two of each payment → charged until the third',
  async (code) => {
    const { host, client } = await openBoth();
    host.rules.add({ kind: 'reversal', code, timesEach: 2 });
    const purchases = [payment('0200'), payment('0200')];
    for (const purchase of purchases) {
      await client.ask(purchase);
      const reversal = following('0420', purchase);
      const codes = [reversal, again(reversal), again(reversal)].map(async (one) =>
        codeOf(await client.ask(one)),
      );
      expect(await Promise.all(codes)).toEqual([code, code, '00']);
    }
    expect(charged(host)).toEqual([]);
    expect(complaints(host)).toEqual([]);
  },
);

test('reversals refused until the rule is removed → then reversed; an unseen one too', async () => {
  const { host, client } = await openBoth();
  host.rules.add({ kind: 'reversal', code: '96' });
  const [seen, unseen] = [payment('0200'), payment('0200')];
  await client.ask(seen);
  const reversals = [following('0420', seen), following('0420', unseen)];
  for (const reversal of [...reversals, ...reversals.map(again)]) {
    expect(codeOf(await client.ask(reversal))).toBe('96');
  }
  expect(charged(host)).toEqual(['1995 charged']);
  host.rules.clear();
  expect(codeOf(await client.ask(again(reversals[0] as Message)))).toBe('00');
  expect(codeOf(await client.ask(again(reversals[1] as Message)))).toBe('25');
  expect(charged(host)).toEqual([]);
});

test('a rule for some in a hundred → the same ones with the same seed; for one connection → only there', async () => {
  const { host, first, second } = await openTwo();
  const codes = async (seed: number) => {
    host.set({ seed });
    const answers: (string | undefined)[] = [];
    for (let count = 0; count < 20; count += 1) answers.push(codeOf(await first.ask(payment('0200'))));
    return answers.join(' ');
  };
  host.rules.add({ code: '51', percent: 50 });
  const once = await codes(7);
  expect(once).toContain('00');
  expect(once).toContain('51');
  expect(await codes(7)).toBe(once);
  host.rules.clear();
  const [, number = 0] = numbersOf(host);
  host.rules.add({ code: '51', connection: number });
  expect(codeOf(await first.ask(payment('0200')))).toBe('00');
  expect(codeOf(await second.ask(payment('0200')))).toBe('51');
});

test('stalls, messages and forgotten reversals through the control port', async () => {
  const host = await HostProcess.start({ ledgerPath: newLedgerPath() });
  onTestFinished(() => host.kill());
  const first = await signedOn(host);
  const second = await signedOn(host);
  const [, stalled] = (await host.status()).connections;
  expect(await host.stall({ of: 'reads', connections: 'all but one' })).toEqual({
    connections: [stalled?.number],
  });
  expect((await host.status()).connections.map(({ isStalled }) => isStalled)).toEqual([false, true]);
  await host.set({ unseenReversals: 'forgotten' });
  const purchase = payment('0200');
  second.send(purchase);
  expect(codeOf(await first.ask(following('0420', purchase)))).toBe('25');
  await host.goOn();
  expect(codeOf(await second.next())).toBe('00');
  await host.say({ mti: '0210', fields: { 11: '000777', 39: '00', 41: 'TERM0009' } });
  expect(about(await first.next())).toEqual(['0210', 'TERM0009', '000777']);
  expect(Object.values(await host.positions())).toEqual(['1995 charged']);
});
