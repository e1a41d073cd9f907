// What is sent to the gateway, and what is to be expected of its answer.

export interface Expectation {
  readonly accepted?: boolean;
  /** One of these. */
  readonly statuses?: readonly number[] | undefined;
  /** Where the errors are, and nowhere else. */
  readonly location?: string;
  /** The answer names the methods that are allowed. */
  readonly allows?: boolean;
  /** Correlation IDs under which nothing may be found afterwards. */
  readonly unprocessed?: readonly string[];
  /** So many answers, refusals of broken HTTP aside. */
  readonly atMost?: number;
  /** Correlation IDs in the order of the answers. */
  readonly answered?: readonly string[];
}

/** One request on a connection that is kept. */
export interface RequestCase {
  readonly what: string;
  readonly raw?: false;
  /** Undefined where the address leads to none. */
  readonly operation?: string;
  readonly expect: Expectation;
  /** It will be accepted, and must not use up what others act on. */
  readonly fresh?: boolean;
  /** One a character, with placeholders. */
  readonly bytes: string;
  readonly correlationId?: string | undefined;
}

/** Bytes on a connection of their own. */
export interface RawCase {
  readonly what: string;
  readonly raw: true;
  readonly parts: readonly string[];
  readonly pauseMs?: number;
  readonly reset?: boolean;
  readonly hold?: boolean;
  readonly expect: Expectation;
  readonly correlationId?: undefined;
}

export type Case = RequestCase | RawCase;

/** A request as its parts, to be bent before it is written. */
export interface RequestParts {
  readonly method: string;
  path: string;
  query: (readonly [name: string, value: string])[];
  correlationId: string | undefined;
  readonly headers: Record<string, readonly string[]>;
  body: string | undefined;
  readonly base?: string;
}

/** Makes a case by chance, again and again. */
export interface Bend {
  readonly what: string;
  make(): Omit<RequestCase, 'what'>;
}

/** `change` bends a proper request, in which the field `wanted` is there, and says what is to be expected. */
export type MakeBend = (
  what: string,
  change: (request: RequestParts) => Expectation,
  wanted?: readonly string[],
) => Bend;

export const REFUSED = (location: string, ...statuses: number[]): Expectation => ({
  statuses: statuses.length > 0 ? statuses : [422],
  location,
});
export const ACCEPTED: Expectation = { accepted: true };
export const ANYTHING: Expectation = {};
