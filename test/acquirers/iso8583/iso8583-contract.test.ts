// The ISO 8583 link keeps the contract of links, in both dialects, with and without MACs.
import { expect } from 'vitest';
import { AS2805 } from '../../../src/acquirers/iso8583/as2805.js';
import { ASCII87 } from '../../../src/acquirers/iso8583/ascii87.js';
import { RetailMac } from '../../../src/acquirers/iso8583/mac.js';
import { cardAnsweredWith } from '../../../testkit/test-cards.js';
import { linkContract } from '../contract-suite.js';
import { BookKeepingHost } from './book-keeping-host.js';
import { MAC_KEY } from './corpus.js';
import { linkTo, shared } from './link-under-test.js';

const MAC = new RetailMac(Buffer.from(MAC_KEY, 'hex'));

for (const [name, dialect, mac] of [
  ['as2805', AS2805, undefined],
  ['as2805 with MACs', AS2805, MAC],
  ['ascii87', ASCII87, undefined],
] as const) {
  linkContract(`ISO 8583 in ${name}`, { takes: 'card', inquiries: false, prepares: true }, async () => {
    const host = await new BookKeepingHost(dialect, mac).listen();
    const link = linkTo(host.port, dialect, shared(), { macs: mac && { sending: mac, receiving: mac } });
    return {
      link,
      cardAnsweredWith,
      // Cards reach the host, and nothing else of the link writes anything.
      written: async () => '',
      breakDown: () => host.stop(),
      cleanUp: async () => {
        await host.stop();
        expect(host.complaints).toEqual([]);
      },
    };
  });
}
