// What a follower of events must have been told in the end, read from the tables that the events tell of.
import type { Json } from '../testkit/bodies.js';
import type { Installation } from '../testkit/installation.js';

interface Subject {
  /** As events name it: `transaction_17`. */
  readonly name: string;
  readonly version: number;
  /** What the newest event must be. */
  readonly newest: string;
}

/** Customers that are gone have left no row: their own events say how many there were. */
const SUBJECTS = `
  SELECT 'transaction_' || audit AS name, version, 'transaction.' || status AS newest FROM transaction WHERE merchant_id = $1
  UNION ALL
  SELECT 'token_' || id, version, CASE WHEN deleted_at IS NULL THEN 'token.' ELSE 'token.deleted' END FROM token
  WHERE merchant_id = $1
  UNION ALL
  SELECT 'customer_' || id, version, 'customer.' FROM customer WHERE merchant_id = $1`;

export function subjectsOf(installation: Installation): Promise<Subject[]> {
  return installation.sql(SUBJECTS, [installation.merchantId]);
}

/** Where a follower's events are not every change of every subject, once, in order. */
export function wronglyTold(events: readonly Json[], subjects: readonly Subject[]): string[] {
  const told = new Map<string, Json[]>();
  for (const event of events) {
    const [, , kind, subject] = event.id.split('_');
    const name = `${kind}_${subject}`;
    told.set(name, [...(told.get(name) ?? []), event]);
  }
  const complaints: string[] = [];
  const expected = new Map(subjects.map((subject) => [subject.name, subject]));
  for (const [name, of] of told) {
    const versions = of.map(({ version }) => version);
    if (versions.some((version, at) => version !== at + 1)) complaints.push(`${name}: versions ${versions}`);
    if (!expected.has(name) && of.at(-1)?.type !== 'customer.deleted')
      complaints.push(`${name} is told of and is not there`);
  }
  for (const { name, version, newest } of subjects) {
    const of = told.get(name) ?? [];
    if (of.length !== version) complaints.push(`${name}: ${of.length} events of ${version}`);
    const type = of.at(-1)?.type.replace('directdebit.returned', 'transaction.declined') ?? newest;
    if (!type.startsWith(newest)) complaints.push(`${name}: the last event is ${type}, and it is ${newest}`);
    if (newest === 'customer.' && type === 'customer.deleted')
      complaints.push(`${name} is there, and told deleted`);
  }
  return complaints;
}
