// A page: its title, what can be done on it, and what it shows.
import { type ReactNode, useEffect } from 'react';

export function Page({
  title,
  beside,
  actions,
  children,
}: {
  readonly title: string;
  readonly beside?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  useEffect(() => {
    document.title = `${title} – Tollgate console`;
  }, [title]);
  return (
    <>
      <div className="page-head">
        <h1>{title}</h1>
        {beside}
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

export function Section({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section className="section">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
