// Queries of the pages: cached while shown, reloaded when something has changed.
import { QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ReadRoutes } from '../../../src/console/interface.js';
import { type Place, read } from './calls.js';
import { Problem } from './problem.js';

const SOON_MS = 2_000;

export const QUERIES = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: SOON_MS,
      // Retry only errors that may pass.
      retry: (failures, error) => failures < 2 && error instanceof Problem && isPassing(error),
      refetchOnWindowFocus: true,
    },
  },
});

function isPassing({ status }: Problem): boolean {
  return status === 0 || status === 502 || status === 503;
}

export interface ReadOptions {
  /** False: wait. */
  readonly when?: boolean;
  /** Keeps showing the old data until the new data arrives. */
  readonly keepPrevious?: boolean;
  /** Reload interval. */
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

/** After an action: reloads everything on the page. */
export function readAgain(): Promise<void> {
  return QUERIES.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
}

/** A list that was scrolled far would reload page by page, so it stays as it is. */
const MOST_PAGES = 2;

/** After a change elsewhere. */
export function readAgainWhatIsShort(): Promise<void> {
  return QUERIES.invalidateQueries({
    predicate: ({ queryKey, state }) => {
      const pages = (state.data as { readonly pages?: readonly unknown[] } | undefined)?.pages;
      return queryKey[0] !== 'session' && (pages === undefined || pages.length <= MOST_PAGES);
    },
  });
}
