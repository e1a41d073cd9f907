// The live stream: the server's clock, the number in doubt, and whether anything has changed. While the stream is lost the page says so,
// and it reconnects by itself.
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';
import type { LiveEvent } from '../../src/console/interface.js';
import { addressOf } from './api/calls.js';
import { QUERIES, readAgainWhatIsShort } from './api/queries.js';
import { type Mode, useMode } from './mode.js';
import { useSession } from './session.js';

export interface Live {
  readonly figures: LiveEvent | undefined;
  readonly isConnected: boolean;
  /** How far the server's clock is ahead of this machine's. */
  readonly aheadMs: number;
}

const LOST: Live = { figures: undefined, isConnected: false, aheadMs: 0 };
const LiveContext = createContext<Live>(LOST);

/** Lists reload at most this often. */
const AGAIN_AFTER_MS = 3_000;
const CONNECT_AGAIN_MS = 3_000;

export function useLive(): Live {
  return use(LiveContext);
}

export function LiveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const { now } = useSession();
  const mode = useMode();
  const aheadAtFirst = useMemo(() => Date.parse(now) - Date.now(), [now]);
  const [live, setLive] = useState<Live>({ ...LOST, isConnected: true });
  useEffect(() => watch(mode, setLive), [mode]);
  const shown = live.figures === undefined ? { ...live, aheadMs: aheadAtFirst } : live;
  return <LiveContext value={shown}>{children}</LiveContext>;
}

/** Returns a function that closes the stream. */
function watch(mode: Mode, set: (change: (live: Live) => Live) => void): () => void {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let changed: number | undefined;
  let readAtMs = 0;
  let wasLost = false;

  const onFigures = ({ data }: MessageEvent<string>) => {
    const figures = JSON.parse(data) as LiveEvent;
    set(() => ({ figures, isConnected: true, aheadMs: Date.parse(figures.now) - Date.now() }));
    if (changed === undefined) changed = figures.changed;
    if (figures.changed === changed || Date.now() - readAtMs < AGAIN_AFTER_MS) return;
    changed = figures.changed;
    readAtMs = Date.now();
    void readAgainWhatIsShort();
  };

  const connect = () => {
    source = new EventSource(addressOf('/live', {}, { mode }));
    source.onopen = () => {
      set((live) => ({ ...live, isConnected: true }));
      // Queries that failed meanwhile, and anything that changed.
      if (wasLost) void readAgainWhatIsShort();
      wasLost = false;
    };
    source.onmessage = onFigures;
    source.addEventListener('figures', onFigures);
    source.addEventListener('signed_out', () => void QUERIES.invalidateQueries({ queryKey: ['session'] }));
    source.onerror = () => {
      wasLost = true;
      set((live) => ({ ...live, isConnected: false }));
      // Refused outright: browsers do not reconnect after that.
      if (source.readyState !== EventSource.CLOSED) return;
      void QUERIES.invalidateQueries({ queryKey: ['session'] });
      timer = setTimeout(connect, CONNECT_AGAIN_MS);
    };
  };
  connect();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
