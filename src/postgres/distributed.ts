// Adapts statements for Citus, which keeps each organisation's transactions on one of several servers. Citus finds the server by a
// constant organisation in the statement, and asks all servers if there is none. So a batch of a single organisation compares
// organisations with a constant. For plain PostgreSQL no statement is changed.
import type { Statement } from './statement.js';

/** Plain PostgreSQL, or PostgreSQL with Citus. */
export type Engine = 'postgresql' | 'citus';

interface Adapted {
  /** The index of the parameter that holds the batch's organisations. */
  readonly organisations: number | undefined;
  readonly forOne: Statement;
  readonly forAny: Statement;
}

/** As `columns` writes `rows` and `places`. */
const BATCHES = [
  /unnest\(\$(\d+)::integer\[\]\) AS (?:organisation_id|of_organisation)\b/,
  /unnest\(\$(\d+)::integer\[\], [^;]*?\) WITH ORDINALITY AS \w+\((?:organisation_id|of_organisation),/,
];
const BOTH_NAMED = /\b(\w+)\.organisation_id = (\w+)\.organisation_id\b/g;
const OF_ASKED = /(?<![.\w])organisation_id = of_organisation\b/g;

const known = new WeakMap<Statement, Adapted>();

/** The statement as it is sent to Citus. */
export function adapted(statement: Statement, values: readonly unknown[]): Statement {
  let found = known.get(statement);
  if (found === undefined) {
    found = adapt(statement);
    known.set(statement, found);
  }
  const { organisations, forOne, forAny } = found;
  return organisations !== undefined && isOfOne(values[organisations]) ? forOne : forAny;
}

function adapt({ name, text: plain, spread: text = plain }: Statement): Adapted {
  // Citus forwards queries as text, and loses an empty select list.
  const sendable = text.replaceAll(/\(\s*SELECT FROM\b/g, '(SELECT 1 FROM');
  const forAny = { name, text: sendable };
  const parameter = BATCHES.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined);
  if (parameter === undefined) return { organisations: undefined, forOne: forAny, forAny };
  const one = `($${parameter}::integer[])[1]`;
  const forOne = {
    name: name === '' ? '' : `${name}-of-one`,
    text: sendable
      .replaceAll(
        BOTH_NAMED,
        `$1.organisation_id = ${one.replaceAll('$', '$$$$')} AND $2.organisation_id = ${one.replaceAll('$', '$$$$')}`,
      )
      .replaceAll(OF_ASKED, `organisation_id = ${one.replaceAll('$', '$$$$')}`),
  };
  return { organisations: Number(parameter) - 1, forOne, forAny };
}

/** Batches send an array as text. */
function isOfOne(organisations: unknown): boolean {
  if (typeof organisations !== 'string') return false;
  const [first, ...others] = organisations.slice(1, -1).split(',');
  return first !== '' && others.every((other) => other === first);
}

/** Errors of another server do not name the constraint. Their message does, followed by the shard's number. */
export function constraintIn(message: string): string | undefined {
  return /\b([a-z]\w*?)_\d{6,}\b/.exec(message)?.[1];
}
