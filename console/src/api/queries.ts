// What pages read: kept while it is shown, read again when something has happened.
import { QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ReadRoutes } from '../../../src/console/interface.js';
import { type Place, read } from './calls.js';
import { Problem } from './problem.js';

const SOON_MS = 2_000;

export const QUERIES = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: SOON_MS,
      // Only what may be different the next time.
      retry: (failures, error) => failures < 2 && error instanceof Problem && isPassing(error),
      refetchOnWindowFocus: true,
    },
  },
});

function isPassing({ status }: Problem): boolean {
  return status === 0 || status === 502 || status === 503;
}

export interface ReadOptions {
  /** Not yet, as long as it is false. */
  readonly when?: boolean;
  /** Shown until the next one is there. */
  readonly keepPrevious?: boolean;
  /** Read again by itself. */
  readonly everyMs?: number | false;
}

export function useRead<Route extends keyof ReadRoutes>(
  route: Route,
  place: Place = {},
  { when = true, keepPrevious = false, everyMs = false }: ReadOptions = {},
): UseQueryResult<ReadRoutes[Route]['answer']> {
  return useQuery<unknown>({
    queryKey: [route, place.params ?? {}, place.query ?? {}],
    queryFn: ({ signal }) => read(route, place, signal),
    enabled: when,
    placeholderData: (previous: unknown) => (keepPrevious ? previous : undefined),
    refetchInterval: everyMs,
  }) as UseQueryResult<ReadRoutes[Route]['answer']>;
}

/** After something was done: everything that is shown is read again. */
export function readAgain(): Promise<void> {
  return QUERIES.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
}

/** A list that was scrolled far would be read again page by page: it is left as it is. */
const MOST_PAGES = 2;

/** After something has happened elsewhere. */
export function readAgainWhatIsShort(): Promise<void> {
  return QUERIES.invalidateQueries({
    predicate: ({ queryKey, state }) => {
      const pages = (state.data as { readonly pages?: readonly unknown[] } | undefined)?.pages;
      return queryKey[0] !== 'session' && (pages === undefined || pages.length <= MOST_PAGES);
    },
  });
}
