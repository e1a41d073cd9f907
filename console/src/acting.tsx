// Actions: calls that change something. Where the gateway wants a fresh proof of identity, the operator is asked for it first.
import { createContext, type ReactNode, use, useCallback, useMemo, useRef, useState } from 'react';
import { getFile, post, postFile, type Saved } from './api/calls.js';
import { Problem } from './api/problem.js';
import { readAgain } from './api/queries.js';
import { useNotify } from './notices.js';
import { ProveAgain } from './sign-in/prove-again.js';

export type Act = <Answer = unknown>(path: string, body?: object | Blob) => Promise<Answer>;

interface Actions {
  readonly act: Act;
  /** Has the browser keep a file. */
  readonly save: (path: string) => Promise<void>;
}

const nothing = () => Promise.reject(new Error('nothing can be done here'));
const ActingContext = createContext<Actions>({ act: nothing, save: nothing });

/** Resolves with the answer; everything that is shown is read again. */
export function useAct(): Act {
  return use(ActingContext).act;
}

/** Says so if the file cannot be had. */
export function useSave(): Actions['save'] {
  const { save } = use(ActingContext);
  const notify = useNotify();
  return useCallback(
    (path) =>
      save(path).catch((error: unknown) => notify(error instanceof Error ? error.message : String(error))),
    [save, notify],
  );
}

export function Acting({ children }: { readonly children: ReactNode }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const waiting = useRef<((proved: boolean) => void)[]>([]);
  const answered = useCallback((proved: boolean) => {
    setAsking(false);
    for (const resolve of waiting.current.splice(0)) resolve(proved);
  }, []);
  const actions = useMemo((): Actions => {
    const proved = async <Answer,>(send: () => Promise<Answer>) => {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof Problem) || error.code !== 'authentication_not_recent') throw error;
        setAsking(true);
        if (!(await new Promise<boolean>((resolve) => waiting.current.push(resolve)))) throw error;
        return send();
      }
    };
    return {
      act: async <Answer,>(path: string, body: object | Blob = {}) => {
        try {
          return await proved(() =>
            body instanceof Blob ? postFile<Answer>(path, body) : post<Answer>(path, body),
          );
        } finally {
          // Also after a refusal: somebody else may have been faster.
          void readAgain();
        }
      },
      save: async (path) => keep(await proved(() => getFile(path))),
    };
  }, []);
  return (
    <ActingContext value={actions}>
      {children}
      {isAsking && <ProveAgain onEnd={answered} />}
    </ActingContext>
  );
}

function keep({ name, content }: Saved): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // Some browsers begin to read it only afterwards.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
