// Buttons that open a form: each dialogue is made anew when it opens, and is gone when it is closed.
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Task } from '../../../src/console/interface.js';
import { useSession } from '../session.js';

export function DialogButton({
  task,
  label,
  danger = false,
  small = false,
  primary = false,
  dialog,
}: {
  /** Nothing is there for those who may not do it. */
  readonly task?: Task;
  readonly label: string;
  readonly danger?: boolean;
  readonly small?: boolean;
  readonly primary?: boolean;
  readonly dialog: (close: () => void) => ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { tasks } = useSession();
  if (task !== undefined && !tasks.includes(task)) return null;
  return (
    <>
      <Button
        size={small ? 'compact-sm' : 'sm'}
        variant={primary ? 'filled' : 'default'}
        {...(danger && { c: 'var(--mantine-color-error)' })}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      {isOpen && dialog(() => setOpen(false))}
    </>
  );
}

/** Shown once: whoever closes it has to make another. */
export function Secret({ what, value }: { readonly what: string; readonly value: string }): ReactNode {
  return (
    <>
      <p>{what} It is shown this once only.</p>
      <code className="secret">{value}</code>
    </>
  );
}
