// The worked example of a dialect in docs/acquirers.md: it is the text of the page, and a link that speaks it keeps the contract.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { cardAnsweredWith } from '../../../testkit/test-cards.js';
import { linkContract } from '../contract-suite.js';
import { cardPayment } from '../orders.js';
import { BookKeepingHost } from './book-keeping-host.js';
import { HARBOUR } from './harbour.js';
import { LinkAtHost } from './link-at-host.js';
import { linkTo, shared } from './link-under-test.js';
import { answering, soon } from './scripted-host.js';

linkContract('ISO 8583 in harbour', { takes: 'card', inquiries: false, prepares: true }, async () => {
  const host = await new BookKeepingHost(HARBOUR).listen();
  const stop = () => host.stop();
  const link = linkTo(host.port, HARBOUR, shared());
  return { link, cardAnsweredWith, written: async () => '', breakDown: stop, cleanUp: stop };
});

test('what the dialect changes → is on the wire as its table says, without code', async () => {
  const at = await LinkAtHost.open(HARBOUR);
  await soon(() => at.link.status.signedOn === 2);
  const raw: Buffer[] = [];
  for (const socket of at.host.sockets)
    socket.prependListener('data', (piece: Buffer) => raw.push(Buffer.from(piece)));
  at.host.script = (heard) => answering(heard, '85', { 38: '654321' });
  const { answer, prepared } = await at.ask(cardPayment('4111111111111111'));
  expect(answer).toMatchObject({ kind: 'approved', responseMessage: 'No reason to decline' });
  const sent = Buffer.concat(raw);
  expect(sent.readUInt16BE(0)).toBe(sent.length - 2);
  expect(sent.toString('latin1', 2, 6)).toBe('0200');
  // Fields 2, 3, 4, 7, 11, 12, 13, 14, 18, 22, 25, 32, 37, 41, 42, 48 and 49.
  expect(sent.toString('hex', 6, 14)).toBe('723c448108c18000');
  expect(sent.toString('latin1', 14, 32)).toBe('164111111111111111');
  expect(sent.toString('latin1')).toContain(`${String(prepared.stan).padStart(6, '0')}`);
  expect(sent.toString('latin1').endsWith('008CVC7391;036')).toBe(true);
  expect(at.last('0200')?.get(22)).toBe('010');
  expect(at.host.heard[0]?.fields.get(70)).toBe('061');
  await at.close();
});

test('the example in docs/acquirers.md → is this dialect, word for word', async () => {
  const read = (path: string) => readFile(fileURLToPath(new URL(path, import.meta.url)), 'utf8');
  const [, example] =
    /```ts\n(\/\/ The dialect of Harbour[\s\S]*?)```/.exec(await read('../../../docs/acquirers.md')) ?? [];
  const dialect = await read('harbour.ts');
  expect(example).toBe(dialect.replaceAll("'../../../src/acquirers/iso8583/dialects/", "'./"));
});
