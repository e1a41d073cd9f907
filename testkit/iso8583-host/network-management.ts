// Sign-on, sign-off and echo: 0800 and what the host answers to it.
import { answerTo, type Spelling } from './answers.js';
import type { Message } from './codec.js';
import type { Connection } from './connection.js';
import type { Complaint } from './ledger.js';
import { hasMac } from './mac.js';
import type { HostSettings } from './settings.js';
import { stallOne } from './stalls.js';

const SIGN_ON = '001';
const SIGN_OFF = '002';
const ECHO = '301';

export interface NetworkParts {
  spelling(): Spelling;
  complain(what: Complaint['what'], about: Pick<Complaint, 'mti' | 'detail'>): void;
}

export class NetworkManagement {
  #signedOn = 0;

  constructor(
    private readonly settings: HostSettings,
    private readonly parts: NetworkParts,
  ) {}

  serve(connection: Connection, received: Message): void {
    const { signOn, echo } = this.settings;
    let code = '00';
    switch (received.fields.get(70)) {
      case SIGN_ON:
        if (signOn === 'closed') connection.close();
        if (signOn === 'closed' || signOn === 'unanswered') return;
        if (signOn === 'refused') code = '05';
        connection.signedOn = signOn === 'accepted';
        if (connection.signedOn) this.#stallEverySecond(connection);
        break;
      case SIGN_OFF:
        connection.signedOn = false;
        break;
      case ECHO:
        if (echo === 'unanswered') return;
        break;
      default:
        this.parts.complain('field missing', { mti: received.mti, detail: '70' });
        code = '30';
    }
    const spelling = this.parts.spelling();
    const { dialect } = spelling;
    connection.answerAtOnce(answerTo(received, { 39: code }), hasMac(received) ? spelling : { dialect });
  }

  /** Once its sign-on is answered. */
  #stallEverySecond(connection: Connection): void {
    this.#signedOn += 1;
    const stall = this.settings.stallOfEverySecond;
    if (stall !== undefined && this.#signedOn % 2 === 0) setImmediate(() => stallOne(connection, stall));
  }
}
