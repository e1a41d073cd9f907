// The frame of pages for those who are not signed in.
import { Paper, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

export function Gate({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}): ReactNode {
  useEffect(() => {
    document.title = `${title} – Tollgate console`;
  }, [title]);
  return (
    <main className="gate">
      <p className="dim">Tollgate console</p>
      <Title order={1} size="h2" mb="md">
        {title}
      </Title>
      <Paper>{children}</Paper>
    </main>
  );
}
