// An ISO 8583 link and the host with books that it speaks to, both in this process, for tests of what goes between them.
import { expect } from 'vitest';
import type { Answer, Order } from '../../../src/acquirers/contract.js';
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import type { Iso8583Link } from '../../../src/acquirers/iso8583/link.js';
import type { Numbers } from '../../../src/acquirers/iso8583/numbers.js';
import { prepare } from '../orders.js';
import { BookKeepingHost } from './book-keeping-host.js';
import { linkTo, type Shared, shared } from './link-under-test.js';

export class LinkAtHost {
  private constructor(
    private readonly dialect: Dialect,
    readonly host: BookKeepingHost,
    readonly common: Shared,
    readonly link: Iso8583Link,
  ) {}

  static async open(dialect: Dialect): Promise<LinkAtHost> {
    const host = await new BookKeepingHost(dialect).listen();
    const common = shared();
    const link = linkTo(host.port, dialect, common);
    await link.open();
    return new LinkAtHost(dialect, host, common, link);
  }

  /** The host must have had nothing to complain of. */
  async close(): Promise<void> {
    await this.link.close();
    await this.host.stop();
    expect(this.host.complaints).toEqual([]);
  }

  async ask<Asked extends Order>(order: Asked): Promise<{ order: Asked; prepared: Numbers; answer: Answer }> {
    const prepared = (await prepare(this.link, order)) as Numbers;
    return { order, prepared, answer: await this.link.ask(order, prepared, () => true) };
  }

  /** Another process, with nothing but what is stored. */
  async elsewhere<Result>(work: (other: Iso8583Link) => Promise<Result>): Promise<Result> {
    const other = linkTo(this.host.port, this.dialect, this.common);
    await other.open();
    return work(other).finally(() => other.close());
  }

  /** The fields of the last message of a type that the host has heard. */
  last(type: string): ReadonlyMap<number, string> | undefined {
    return this.host.messages(type).at(-1)?.fields;
  }
}
