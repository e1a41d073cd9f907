// Loading, empty and error states of a page.
import { Alert, Button, Skeleton } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { adviceFor, isWaiting, Problem } from './api/problem.js';

export function Loading({ lines = 4 }: { readonly lines?: number }): ReactNode {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <Skeleton key={index} height={22} mb={10} />
      ))}
    </div>
  );
}

export function Failure({
  error,
  again,
}: {
  readonly error: unknown;
  readonly again?: (() => void) | undefined;
}): ReactNode {
  const message = error instanceof Error ? error.message : String(error);
  if (isWaiting(error))
    return (
      <Alert variant="outline" role="status" title={message}>
        <Link href="/approvals">Look at it under Approvals</Link>
      </Alert>
    );
  const advice = adviceFor(error);
  return (
    <Alert variant="outline" color="red" role="alert" title={message}>
      {advice !== undefined && <p className="dim">{advice}</p>}
      {error instanceof Problem && error.audit !== undefined && <p>It is about transaction {error.audit}.</p>}
      {again !== undefined && (
        <Button size="xs" variant="default" onClick={again}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="drop">
      <strong>{title}</strong>
      {children !== undefined && <p className="dim">{children}</p>}
    </div>
  );
}

/** The data of a query, or its loading or error state. */
export function Shown<Data>({
  query,
  children,
}: {
  readonly query: UseQueryResult<Data>;
  readonly children: (data: Data) => ReactNode;
}): ReactNode {
  if (query.data !== undefined)
    return (
      <>
        {query.isError && <Failure error={query.error} again={() => void query.refetch()} />}
        {children(query.data)}
      </>
    );
  if (query.isError) return <Failure error={query.error} again={() => void query.refetch()} />;
  return <Loading />;
}
