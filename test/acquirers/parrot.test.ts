// The worked example of docs/acquirers.md: it is the text of the page, and keeps the contract of links.
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { cardAnsweredWith } from '../../testkit/test-cards.js';
import { linkContract } from './contract-suite.js';
import { Parrot } from './parrot.js';

/** A server on this machine that answers as Parrot would. */
async function parrotHost() {
  const codes = new Map<string, string>();
  const reversed = new Set<string>();

  function codeFor(path: string, number: string, pan: string): string {
    switch (path) {
      case '/hello':
        return '00';
      case '/inquiry':
        return reversed.has(number) ? '25' : (codes.get(number) ?? '25');
      case '/reversal':
        reversed.add(number);
        return '00';
      default: {
        const [, asked = '00'] = /^4100000000000([0-9]{2})[0-9]$/.exec(pan) ?? [];
        const code = reversed.has(number) ? '12' : asked;
        codes.set(number, code);
        return code;
      }
    }
  }

  async function answer(request: IncomingMessage): Promise<string> {
    const { number = '', pan = '' } = JSON.parse(await text(request)) as { number?: string; pan?: string };
    const responseCode = codeFor(request.url ?? '', number, pan);
    const authorisationCode = '654321';
    return JSON.stringify({
      responseCode,
      responseMessage: 'Pieces of eight',
      authorisationCode,
      preauthorisationCode: 'P8',
    });
  }

  const server = createServer(async (request, response) => response.end(await answer(request)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    written: async () => '',
    breakDown: stop,
    cleanUp: stop,
  };
}

linkContract('Parrot', { takes: 'card', inquiries: true, prepares: true }, async () => {
  const host = await parrotHost();
  return { link: new Parrot(host.address), cardAnsweredWith, ...host };
});

test('the example in docs/acquirers.md → is this link, word for word', async () => {
  const read = (path: string) => readFile(fileURLToPath(new URL(path, import.meta.url)), 'utf8');
  const [, example] =
    /```ts\n(\/\/ The link to Parrot[\s\S]*?)```/.exec(await read('../../docs/acquirers.md')) ?? [];
  const link = await read('parrot.ts');
  expect(example).toBe(link.replace("'../../src/acquirers/contract.js'", "'../contract.js'"));
});
