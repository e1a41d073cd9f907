// A host with a ledger: it decides by the card number, remembers reversals, and notes messages that make no sense.
import type { Dialect } from '../../../src/acquirers/iso8583/dialects/dialect.js';
import type { RetailMac } from '../../../src/acquirers/iso8583/wire/mac.js';
import { type Answer, answering, type Heard, ScriptedHost } from './scripted-host.js';

interface Entry {
  readonly type: string;
  readonly stan: string;
  readonly terminal: string;
  readonly time: string;
  readonly card: string;
  readonly amount: string;
  readonly retrievalReference: string;
  readonly authorisationCode: string;
  readonly code: string;
}

const CARD = /^4100000000000([0-9]{2})[0-9]$/;

export class BookKeepingHost extends ScriptedHost {
  readonly complaints: string[] = [];
  /** By type, STAN and terminal. */
  readonly entries = new Map<string, Entry>();
  readonly reversed = new Set<string>();
  #seen = new Map<string, string>();
  #codes = 0;

  constructor(dialect: Dialect, mac?: RetailMac) {
    super(dialect, mac);
    this.script = (heard) => this.decide(heard);
  }

  decide(heard: Heard): Answer | undefined {
    const type = `${heard.type.slice(0, 3)}0`;
    this.#checkStan(type, heard);
    return type === '0420' || type === '0400' ? this.#reverse(heard, type) : this.#take(heard, type);
  }

  #text(heard: Heard, field: number): string {
    const text = heard.fields.get(field);
    if (text === undefined) this.complaints.push(`${heard.type} without field ${field}`);
    return text ?? '';
  }

  /** Under one STAN comes one message, and its repetitions, which are the same in every field. */
  #checkStan(type: string, heard: Heard): void {
    const key = `${this.#text(heard, 41)}/${this.#text(heard, 11)}`;
    const said = JSON.stringify([
      type,
      ...[...heard.fields].filter(([field]) => field !== 64 && field !== 128),
    ]);
    const before = this.#seen.get(key);
    if (before !== undefined && before !== said)
      this.complaints.push(`${heard.type} under STAN ${key}, which was another`);
    if (before !== undefined && heard.type === type)
      this.complaints.push(`${heard.type} under STAN ${key} twice`);
    this.#seen.set(key, said);
  }

  #take(heard: Heard, type: string): Answer {
    const [stan, terminal] = [this.#text(heard, 11), this.#text(heard, 41)];
    const key = `${type}/${stan}/${terminal}`;
    const card = this.#text(heard, 2);
    for (const field of [3, 4, 7, 12, 13, 14, 22, 25, 37, 42, 49]) this.#text(heard, field);
    const known = this.entries.get(key);
    const original = heard.fields.get(90);
    if (original !== undefined) this.#checkOriginal(heard, original);
    const [, asked = '00'] = CARD.exec(card) ?? [];
    const code = this.reversed.has(key) ? '12' : (known?.code ?? asked);
    this.#codes += 1;
    const entry: Entry = known ?? {
      type,
      stan,
      terminal,
      time: this.#text(heard, 7),
      card,
      amount: this.#text(heard, 4),
      retrievalReference: this.#text(heard, 37),
      authorisationCode: String(this.#codes).padStart(6, '0'),
      code,
    };
    if (!this.reversed.has(key)) this.entries.set(key, entry);
    // What the network calls it is told of cards that are kept; after code 05, that it is not to be tried again.
    const isKept = heard.fields.get(22) === '102' || heard.fields.has(48);
    const network = isKept && type !== '0220' ? { 48: `NT015NET${stan}${stan}` } : {};
    const approved =
      code === '00' ? { 38: entry.authorisationCode, ...network } : code === '05' ? { 48: 'MA00203' } : {};
    return answering(heard, code, { 15: heard.fields.get(13) ?? '0101', ...approved });
  }

  #reverse(heard: Heard, type: string): Answer {
    const original = this.#text(heard, 90);
    const own = `${type}/${this.#text(heard, 11)}/${this.#text(heard, 41)}`;
    if (this.reversed.has(own)) return answering(heard, '12');
    const entry = this.#checkOriginal(heard, original);
    this.reversed.add(`${original.slice(0, 4)}/${original.slice(4, 10)}/${this.#text(heard, 41)}`);
    return answering(heard, entry === undefined ? '25' : '00');
  }

  /** A message must identify its original with the original's own values. */
  #checkOriginal(heard: Heard, original: string): Entry | undefined {
    const [type, stan, time] = [original.slice(0, 4), original.slice(4, 10), original.slice(10, 20)];
    const entry = this.entries.get(`${type}/${stan}/${this.#text(heard, 41)}`);
    if (entry === undefined) return undefined;
    const wrong = (what: string) =>
      this.complaints.push(`${heard.type} of ${type}/${stan} with another ${what}`);
    if (entry.time !== time) wrong('time');
    if (entry.card !== heard.fields.get(2)) wrong('card');
    if (entry.retrievalReference !== heard.fields.get(37)) wrong('retrieval reference');
    const code = heard.fields.get(38);
    if (code !== undefined && code !== entry.authorisationCode) wrong('authorisation code');
    if (/^04/.test(heard.type) && entry.amount !== heard.fields.get(4)) wrong('amount');
    return entry;
  }
}
