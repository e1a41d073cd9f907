// The condition of an acquirer link, in words and colour: whether it is up, and if not, since when and why.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { TodayAnswer } from '../../../src/console/interface.js';
import { Mark } from '../marks.js';
import { useMay } from '../session.js';
import { moment } from '../words.js';

type LinkFigure = TodayAnswer['links'][number];
type Condition = Pick<LinkFigure, 'condition' | 'since' | 'reason'>;

const TONES = {
  up: 'good',
  partly_down: 'doubt',
  connecting: 'doubt',
  no_gateway: 'doubt',
  not_answering: 'bad',
  down: 'bad',
} as const;

const FOLLOWS = {
  up: '',
  connecting: '',
  no_gateway: '',
  partly_down: 'Payments go by the other gateways.',
  not_answering: 'Payments over it may be in doubt.',
  down: 'Payments over it are not sent.',
} as const;

export function ConditionMark({ condition }: Pick<Condition, 'condition'>): ReactNode {
  return <Mark word={condition} tone={TONES[condition]} />;
}

/** `since 16 Nov 2026, 22:13:05: cannot connect: ECONNREFUSED`; nothing of a link that is up. */
export function sinceAndWhy({ since, reason }: Condition): string {
  return [since === null ? '' : `since ${moment(since)}`, reason ?? '']
    .filter((words) => words !== '')
    .join(': ');
}

export function InWords(link: Condition): ReactNode {
  return (
    <>
      <ConditionMark condition={link.condition} /> {sinceAndWhy(link)}
    </>
  );
}

/** A line for each link that is not up. */
export function LinksInTrouble({ links }: { readonly links: readonly LinkFigure[] }): ReactNode {
  const maySee = useMay('acquirer list');
  const troubled = links.filter(({ condition }) => condition !== 'up' && condition !== 'connecting');
  if (troubled.length === 0) return null;
  return (
    <ul className="troubles" aria-label="Links to acquirers that need attention">
      {troubled.map((link) => (
        <li key={link.name} data-tone={TONES[link.condition]}>
          <strong>
            The link {maySee ? <Link href={`/acquirers/${link.name}`}>{link.name}</Link> : link.name}
          </strong>{' '}
          is <InWords {...link} />. {FOLLOWS[link.condition]}
        </li>
      ))}
    </ul>
  );
}
