// Test or live: what the page shows is one or the other, never both. The address decides if it names one, so that a view can be shared.
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from 'react';
import { useSearchParams } from 'wouter';
import { useSession } from './session.js';

export type Mode = 'test' | 'live';

interface Chosen {
  readonly mode: Mode;
  choose(mode: Mode): void;
}

const ModeContext = createContext<Chosen>({ mode: 'test', choose: () => {} });
const KEY = 'tollgate-mode';

export function useMode(): Mode {
  return use(ModeContext).mode;
}

export function useChooseMode(): (mode: Mode) => void {
  return use(ModeContext).choose;
}

function modeIn(text: string | null): Mode | undefined {
  return text === 'test' || text === 'live' ? text : undefined;
}

export function ModeProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const session = useSession();
  const [search, setSearch] = useSearchParams();
  const [stored, setStored] = useState(() => modeIn(sessionStorage.getItem(KEY)));
  const named = modeIn(search.get('mode'));
  const mode = named ?? stored ?? session.mode;
  const choose = useCallback(
    (wanted: Mode) => {
      sessionStorage.setItem(KEY, wanted);
      setStored(wanted);
      if (search.has('mode')) {
        setSearch((before) => {
          const after = new URLSearchParams(before);
          after.set('mode', wanted);
          return after;
        });
      }
    },
    [search, setSearch],
  );
  const chosen = useMemo(() => ({ mode, choose }), [mode, choose]);
  return <ModeContext value={chosen}>{children}</ModeContext>;
}
