// The navigation: every page that this operator may open, and how many payments are in doubt.
import { type ReactNode, useMemo } from 'react';
import { Link, useLocation } from 'wouter';
import { useLive } from '../live.js';
import { useSession } from '../session.js';
import { count } from '../words.js';
import { PLACES, type PlaceOnPage } from './places.js';

export function usePlaces(): readonly PlaceOnPage[] {
  const { tasks } = useSession();
  return useMemo(() => PLACES.filter(({ task }) => tasks.includes(task)), [tasks]);
}

export function Navigation({ isOpen, close }: { readonly isOpen: boolean; close(): void }): ReactNode {
  const places = usePlaces();
  const [location] = useLocation();
  const inDoubt = useLive().figures?.in_doubt ?? 0;
  const groups = [...new Set(places.map(({ group }) => group))];
  return (
    <nav className="nav" data-open={isOpen} aria-label="Pages" id="navigation">
      {groups.map((group) => (
        <div key={group}>
          <h2>{group}</h2>
          <ul>
            {places
              .filter((place) => place.group === group)
              .map(({ path, name }) => (
                <li key={path}>
                  <Link
                    href={path}
                    onClick={close}
                    aria-current={isWithin(location, path) ? 'page' : undefined}
                  >
                    {name}
                    {path === '/in-doubt' && inDoubt > 0 && (
                      <span className="mark" data-tone="doubt">
                        {count(inDoubt)}
                      </span>
                    )}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function isWithin(location: string, path: string): boolean {
  return location === path || (path !== '/' && location.startsWith(`${path}/`));
}
