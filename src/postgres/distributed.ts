// Statements for an engine that keeps the transactions of each organisation on one of several servers (Citus). It finds that server by
// an organisation that the statement names as a constant, and asks all of them where none is named. So the statement of a batch that is
// all one organisation's says so wherever it compares organisations; on a plain PostgreSQL no statement is changed.
import type { Statement } from './statement.js';

/** What answers: a plain PostgreSQL, or one that spreads organisations over several. */
export type Engine = 'postgresql' | 'citus';

interface Adapted {
  /** Which of the parameters has the organisations of the batch, counted from 0. */
  readonly organisations: number | undefined;
  readonly forOne: Statement;
  readonly forAny: Statement;
}

/** As `columns` writes them: `rows`, and `places`. */
const BATCHES = [
  /unnest\(\$(\d+)::integer\[\]\) AS (?:organisation_id|of_organisation)\b/,
  /unnest\(\$(\d+)::integer\[\], [^;]*?\) WITH ORDINALITY AS \w+\((?:organisation_id|of_organisation),/,
];
const BOTH_NAMED = /\b(\w+)\.organisation_id = (\w+)\.organisation_id\b/g;
const OF_ASKED = /(?<![.\w])organisation_id = of_organisation\b/g;

const known = new WeakMap<Statement, Adapted>();

/** As it is sent to such an engine. */
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
  // It sends queries on as text, and writes a list of nothing as no list at all.
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

/** The text of an array, as batches are sent. */
function isOfOne(organisations: unknown): boolean {
  if (typeof organisations !== 'string') return false;
  const [first, ...others] = organisations.slice(1, -1).split(',');
  return first !== '' && others.every((other) => other === first);
}

/** Errors of another server come without the name of the constraint. The message has it, with the number of the part behind it. */
export function constraintIn(message: string): string | undefined {
  return /\b([a-z]\w*?)_\d{6,}\b/.exec(message)?.[1];
}
