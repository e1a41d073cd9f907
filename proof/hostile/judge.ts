// Holds an answer against what was promised, and keeps every promise that was broken with the request that did it.
import type { Secrets } from '../arena/secrets.js';
import type { Case, RawCase, RequestCase } from './case.js';
import { type Exchanged, type HttpResponse, responsesIn } from './connection.js';
import type { ApiDocument } from './document.js';

const OURS = / {4}at |node_modules|\.[jt]s:[0-9]/;

/** A promise that was broken, and how. */
type Objection = readonly [promise: string, detail: string];

export interface BrokenPromise {
  readonly promise: string;
  readonly detail: string;
  readonly case: Case | undefined;
}

export class Judge {
  readonly #document: ApiDocument;
  readonly #secrets: Secrets;
  /** The latest cases by correlation ID, for what a log line may say about them. */
  readonly #byId = new Map<string, Case>();
  readonly broken: BrokenPromise[] = [];
  readonly statuses: Record<number, number> = {};

  constructor(document: ApiDocument, secrets: Secrets) {
    this.#document = document;
    this.#secrets = secrets;
  }

  remember(one: Case): void {
    if (one.correlationId) this.#byId.set(one.correlationId, one);
    const [oldest] = this.#byId.keys();
    if (this.#byId.size > 5_000 && oldest !== undefined) this.#byId.delete(oldest);
  }

  breaks(promise: string, detail: string, one?: Case): void {
    this.broken.push({ promise, detail, case: one });
  }

  /** A line that the gateway wrote. */
  line(text: string): void {
    this.#secrets.searched.lines += 1;
    const [, id = ''] = /"correlation_id":"([^"]+)"/.exec(text) ?? [];
    const found = this.#secrets.foundIn(text);
    if (found) this.breaks('no secret in the log', `${found} in ${text}`, this.#byId.get(id));
    if (text.includes('"internal error"') || OURS.test(text)) {
      this.breaks('no internal error', text, this.#byId.get(id));
    }
  }

  /** The answer to one request. */
  answer(one: RequestCase, answer: HttpResponse | undefined): void {
    const objection = this.#objection(one, answer);
    if (objection) this.breaks(...objection, one);
  }

  #objection(
    { operation, expect, correlationId }: RequestCase,
    answer: HttpResponse | undefined,
  ): Objection | undefined {
    if (answer === undefined) return ['an answer', 'the connection was closed, or nothing came'];
    const said = `${answer.status} ${answer.body.slice(0, 600)}`;
    const general = this.#general(answer);
    if (general) return general;
    const undocumented =
      answer.headers['content-length'] !== '0' && answer.body === '' && answer.status !== 204;
    const unlike = undocumented ? undefined : this.#document.objection(operation, answer);
    if (unlike) return ['answers as documented', `${unlike}: ${said}`];
    if (
      correlationId &&
      !correlationId.includes('<<') &&
      answer.headers['x-correlation-id'] !== correlationId
    ) {
      return ['the correlation ID comes back', said];
    }
    if (expect.accepted) return answer.status < 300 ? undefined : ['a proper request is accepted', said];
    if (expect.statuses && !expect.statuses.includes(answer.status)) {
      return [`refused with ${expect.statuses.join(' or ')}`, said];
    }
    if (expect.allows && !answer.headers.allow) return ['405 names what is allowed', said];
    if (expect.location === undefined || answer.body === '') return undefined;
    return wellLocated(expect.location, JSON.parse(answer.body).errors)
      ? undefined
      : [`the errors name ${expect.location || 'no place'} alone`, said];
  }

  #general({ status, text }: HttpResponse): Objection | undefined {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    this.#secrets.searched.answers += 1;
    const found = this.#secrets.foundIn(text);
    if (found) return ['no secret in an answer', `${found} in ${text}`];
    // What is no version of HTTP/1 is the client's fault, whatever the number says.
    if (status >= 500 && status !== 505) return ['no 5XX', text.slice(0, 600)];
    if (OURS.test(text)) return ['no insides in an answer', text.slice(0, 600)];
    return undefined;
  }

  /** Everything that came back on a connection of its own. */
  connection(one: RawCase, { text, closed }: Exchanged): void {
    const { expect } = one;
    const { responses, rest } = responsesIn(text, () => one.parts[0]?.startsWith('HEAD ') === true);
    const statuses = responses.map(({ status }) => status);
    for (const answer of responses) {
      const general = this.#general(answer);
      if (general) this.breaks(...general, one);
      const unlike = answer.body === '' ? undefined : this.#document.objection(undefined, answer);
      if (unlike) this.breaks('answers as documented', `${unlike}: ${answer.text.slice(0, 600)}`, one);
    }
    if (rest !== '' && !one.reset) this.breaks('whole answers', `${rest.slice(0, 300)}`, one);
    if (!closed) this.breaks('the connection ends', `after ${statuses.join() || 'nothing'}`, one);
    if (expect.statuses && !statuses.every((status) => expect.statuses?.includes(status))) {
      this.breaks(`refused with ${expect.statuses.join(' or ')}`, statuses.join(), one);
    }
    if (
      expect.atMost !== undefined &&
      statuses.filter((status) => status !== 400 && status !== 505).length > expect.atMost
    ) {
      this.breaks('nothing hidden is answered', statuses.join(), one);
    }
    if (expect.answered) {
      const ids = responses.map(({ headers }) => headers['x-correlation-id']);
      if (ids.join() !== expect.answered.join()) {
        this.breaks('pipelined requests are answered in order', `${statuses.join()} for ${ids.join()}`, one);
      }
    }
  }
}

/** At least one error at the place itself, and none in another part of the request. */
function wellLocated(location: string, errors: readonly { location: string[] }[]): boolean {
  const places = errors.map((error) => error.location.join('/'));
  const related = (place: string) =>
    place === location || `${place}/`.startsWith(`${location}/`) || `${location}/`.startsWith(`${place}/`);
  return places.includes(location) && places.every((place) => related(place));
}
