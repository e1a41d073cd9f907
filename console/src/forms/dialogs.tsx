// Buttons that open a form. A dialogue is created when it opens. It lives above the page and not beside its button, because its action
// may remove the button's row while the outcome is still shown.
import { Button } from '@mantine/core';
import { createContext, Fragment, type ReactNode, use, useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import type { Task } from '../../../src/console/interface.js';
import { useSession } from '../session.js';

type Dialogue = (close: () => void) => ReactNode;

interface Open {
  /** Of the button. */
  readonly by: number;
  readonly dialog: Dialogue;
}

interface Host {
  show(open: Open): void;
  /** As its button would show it now. */
  renew(open: Open): void;
}

const HostContext = createContext<Host>({ show: () => {}, renew: () => {} });

/** Where dialogues are shown. They close when another page is opened. */
export function Dialogs({ children }: { readonly children: ReactNode }): ReactNode {
  const [open, setOpen] = useState<Open>();
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about the change of the address
  useEffect(() => setOpen(undefined), [location]);
  const host = useMemo(
    (): Host => ({
      show: setOpen,
      renew: (renewed) => setOpen((now) => (now?.by === renewed.by ? renewed : now)),
    }),
    [],
  );
  return (
    <HostContext value={host}>
      {children}
      {open !== undefined && <Fragment key={open.by}>{open.dialog(() => setOpen(undefined))}</Fragment>}
    </HostContext>
  );
}

let buttons = 0;

export function DialogButton({
  task,
  label,
  danger = false,
  small = false,
  primary = false,
  dialog,
}: {
  /** Hidden for operators who may not do it. */
  readonly task?: Task;
  readonly label: string;
  readonly danger?: boolean;
  readonly small?: boolean;
  readonly primary?: boolean;
  readonly dialog: Dialogue;
}): ReactNode {
  const host = use(HostContext);
  const [by] = useState(() => {
    buttons += 1;
    return buttons;
  });
  useEffect(() => host.renew({ by, dialog }), [host, by, dialog]);
  const { tasks } = useSession();
  if (task !== undefined && !tasks.includes(task)) return null;
  return (
    <Button
      size={small ? 'compact-sm' : 'sm'}
      variant={primary ? 'filled' : 'default'}
      {...(danger && { c: 'var(--mantine-color-error)' })}
      aria-haspopup="dialog"
      onClick={() => host.show({ by, dialog })}
    >
      {label}
    </Button>
  );
}

/** Shown once: after closing, only a new one helps. */
export function Secret({ what, value }: { readonly what: string; readonly value: string }): ReactNode {
  return (
    <>
      <p>{what} It is shown this once only.</p>
      <code className="secret">{value}</code>
    </>
  );
}
