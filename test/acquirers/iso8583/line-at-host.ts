// The connections of a link and the scripted host that they lead to, both in this process, with whatever an operator is told of them.
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import type { TraceLine } from '../../../src/acquirers/iso8583/wire/connection.js';
import {
  type ConnectionEvent,
  Line,
  type LineEvent,
  type LineParts,
} from '../../../src/acquirers/iso8583/wire/line.js';
import type { Exchange } from '../../../src/acquirers/iso8583/wire/outstanding.js';
import type { Cvv } from '../../../src/values/card.js';
import { linePartsTo } from './link-under-test.js';
import { ScriptedHost } from './scripted-host.js';

export const TERMINAL = 'TERM0001';

export class LineAtHost {
  line: Line;
  readonly news: ConnectionEvent[] = [];
  readonly lineNews: LineEvent[] = [];
  readonly traced: TraceLine[] = [];

  private constructor(
    private readonly dialect: Dialect,
    /** Another one may take its place. */
    public host: ScriptedHost,
  ) {
    this.line = this.#makeLine({});
  }

  /** Not opened yet. */
  static async start(dialect: Dialect): Promise<LineAtHost> {
    return new LineAtHost(dialect, await new ScriptedHost(dialect).listen());
  }

  async stop(): Promise<void> {
    await this.line.close();
    await this.host.stop();
  }

  /** Another line, not opened yet, in place of the one that there was. */
  async another(change: Partial<LineParts>): Promise<void> {
    await this.line.close();
    this.line = this.#makeLine(change);
  }

  exchange(stan: number, terminal = TERMINAL, more?: string, cvv?: Cvv): Promise<Exchange> {
    return this.line.exchange(
      { stan, terminal },
      '0210',
      (message) => {
        message.type = '0200';
        message.set(2, '4111111111111111').set(4, '1995').set(11, String(stan)).set(41, terminal);
        if (more !== undefined) message.set(48, more);
      },
      { cvv },
    );
  }

  #makeLine(change: Partial<LineParts>): Line {
    return new Line({
      ...linePartsTo(this.host.port, this.dialect),
      connections: 1,
      onConnectionEvent: (each) => this.news.push(each),
      onLineEvent: (each) => this.lineNews.push(each),
      onTrace: (each) => this.traced.push(each),
      ...change,
    });
  }
}
