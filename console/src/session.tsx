// Who is signed in. A session that ends leaves the page where it is: after signing in again, the same view is there.
import { useQuery } from '@tanstack/react-query';
import { createContext, use } from 'react';
import type { SessionAnswer, Task } from '../../src/console/interface.js';
import { get, post, whenSignedOut } from './api/calls.js';
import { Problem } from './api/problem.js';
import { QUERIES } from './api/queries.js';

export type Session = SessionAnswer;

const KEY = ['session'];
const LOOK_AGAIN_MS = 60_000;

let hasEnded = false;

whenSignedOut(() => {
  hasEnded ||= Boolean(QUERIES.getQueryData(KEY));
  QUERIES.setQueryData(KEY, null);
});

/** Whether the operator was signed in and did not sign out. */
export function sessionHasEnded(): boolean {
  return hasEnded;
}

/** Null: nobody is signed in. Undefined: not known yet. */
export function useSessionQuery() {
  return useQuery<Session | null>({
    queryKey: KEY,
    queryFn: () =>
      get<Session>('/session').catch((error: unknown) => {
        if (error instanceof Problem && error.status === 401) return null;
        throw error;
      }),
    refetchInterval: ({ state }) => (state.data === null ? false : LOOK_AGAIN_MS),
  });
}

const SessionContext = createContext<Session | undefined>(undefined);
export const SessionProvider = SessionContext.Provider;

/** The session of the signed-in operator; only inside the shell. */
export function useSession(): Session {
  const session = use(SessionContext);
  if (session === undefined) throw new Error('there is no session here');
  return session;
}

/** By the same permissions as the command line. The gateway checks them again. */
export function useMay(task: Task): boolean {
  return useSession().tasks.includes(task);
}

/** Clears what the previous operator saw. The session query stays: the page watches it. */
function forget(): void {
  QUERIES.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEY[0] });
}

export async function signedIn(): Promise<void> {
  hasEnded = false;
  forget();
  await QUERIES.invalidateQueries({ queryKey: KEY });
}

export async function signOut(everywhere: boolean): Promise<void> {
  await post(everywhere ? '/sign-out-everywhere' : '/sign-out');
  QUERIES.setQueryData(KEY, null);
  forget();
}
