// The frame around every page: header, navigation, the sign that the connection is lost, and the page itself.
import { type ReactNode, Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { Acting } from '../acting.js';
import { Dialogs } from '../forms/dialogs.js';
import { LiveProvider, useLive } from '../live.js';
import { ModeProvider, useMode } from '../mode.js';
import { Notices } from '../notices.js';
import { type Session, SessionProvider } from '../session.js';
import { Loading } from '../states.js';
import { Boundary } from './boundary.js';
import { Header } from './header.js';
import { Navigation } from './navigation.js';
import { ShortcutHelp, useShortcuts } from './shortcuts.js';

export function Shell({
  session,
  children,
}: {
  readonly session: Session;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <SessionProvider value={session}>
      <ModeProvider>
        <LiveProvider>
          <Notices>
            <Acting>
              <Dialogs>
                <Frame>{children}</Frame>
              </Dialogs>
            </Acting>
          </Notices>
        </LiveProvider>
      </ModeProvider>
    </SessionProvider>
  );
}

function Frame({ children }: { readonly children: ReactNode }): ReactNode {
  const mode = useMode();
  const [location] = useLocation();
  const { isConnected } = useLive();
  const [isOpen, setOpen] = useState(false);
  const [isHelping, setHelping] = useState(false);
  const help = useCallback(() => setHelping(true), []);
  useShortcuts(help);
  const main = useFocusOnNewPage();
  return (
    <div className="frame" data-mode={mode}>
      <a href="#main" className="skip-link">
        Skip to the page
      </a>
      <Header isOpen={isOpen} toggle={() => setOpen(!isOpen)} help={help} />
      <Navigation isOpen={isOpen} close={() => setOpen(false)} />
      <main className="main" id="main" tabIndex={-1} ref={main}>
        {!isConnected && (
          <p className="lost" role="alert">
            The connection to the gateway is lost. What you see may be out of date. The page reconnects by
            itself.
          </p>
        )}
        <Boundary at={location}>
          <Suspense fallback={<Loading />}>{children}</Suspense>
        </Boundary>
      </main>
      {isHelping && <ShortcutHelp close={() => setHelping(false)} />}
    </div>
  );
}

/** Keyboard and screen reader users start at the top of a new page. */
function useFocusOnNewPage() {
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(location);
  useEffect(() => {
    if (shown.current === location) return;
    shown.current = location;
    main.current?.focus();
    window.scrollTo(0, 0);
  }, [location]);
  return main;
}
