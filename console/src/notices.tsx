// Short notices of what was done, read out by screen readers, gone after a while.
import { createContext, type ReactNode, use, useCallback, useState } from 'react';

const SHOWN_MS = 6_000;

interface Notice {
  readonly id: number;
  readonly words: ReactNode;
}

const NoticeContext = createContext<(words: ReactNode) => void>(() => {});

export function useNotify(): (words: ReactNode) => void {
  return use(NoticeContext);
}

let last = 0;

export function Notices({ children }: { readonly children: ReactNode }): ReactNode {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const notify = useCallback((words: ReactNode) => {
    last += 1;
    const id = last;
    setNotices((shown) => [...shown, { id, words }]);
    setTimeout(() => setNotices((shown) => shown.filter((notice) => notice.id !== id)), SHOWN_MS);
  }, []);
  return (
    <NoticeContext value={notify}>
      {children}
      <div className="notices" role="status">
        {notices.map(({ id, words }) => (
          <div key={id} className="notice">
            {words}
          </div>
        ))}
      </div>
    </NoticeContext>
  );
}
