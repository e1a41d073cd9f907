// A list of names and values. Unknown values are left out.
import { Fragment, type ReactNode } from 'react';
import { moment, spaced } from '../words.js';

export function Facts({ facts }: { readonly facts: Readonly<Record<string, ReactNode>> }): ReactNode {
  const known = Object.entries(facts).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  return (
    <dl className="facts">
      {known.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** Every field of an answer. */
export function AllFacts({ of }: { readonly of: object }): ReactNode {
  return (
    <Facts
      facts={Object.fromEntries(Object.entries(of).map(([member, value]) => [nameOf(member), textOf(value)]))}
    />
  );
}

const A_MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

/** Any value as text. */
export function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  if (typeof value === 'string' && A_MOMENT.test(value)) return moment(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function nameOf(member: string): string {
  const words = spaced(member);
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`.replace(/\b[Ii]d\b/, 'ID');
}
