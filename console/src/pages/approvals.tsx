// Approvals: requests above the limit that wait for a second operator.
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { OperatorRequestAnswer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { get } from '../api/calls.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark } from '../marks.js';
import { useMay, useSession } from '../session.js';
import { Page } from '../shell/page.js';
import { moment, money } from '../words.js';
import { useIsOfMode } from './merchant-choice.js';

type Request = OperatorRequestAnswer;

const AGAIN_MS = 5_000;

const COLUMNS: readonly Column<Request>[] = [
  { key: 'request', title: 'Request', show: ({ request }) => request },
  {
    key: 'what',
    title: 'What',
    show: ({ operation, organisation, target_audit }) => (
      <>
        {operation} of <Link href={`/transactions/${organisation}/${target_audit}`}>{target_audit}</Link>
      </>
    ),
  },
  {
    key: 'amount',
    title: 'Amount',
    number: true,
    show: ({ amount_cents, currency }) => money(amount_cents, currency),
  },
  {
    key: 'reason',
    title: 'Reason',
    show: ({ reason }) => (
      <div className="cut" title={reason}>
        {reason}
      </div>
    ),
    wide: true,
  },
  { key: 'by', title: 'Asked for by', show: ({ requested_by }) => requested_by },
  { key: 'requested', title: 'When', show: ({ requested }) => moment(requested), wide: true },
  { key: 'expires', title: 'Until', show: ({ expires }) => moment(expires), wide: true },
  {
    key: 'state',
    title: 'State',
    show: ({ state, failure }) => (
      <span title={failure ?? ''}>
        <Mark word={state} />
      </span>
    ),
  },
  {
    key: 'audit',
    title: 'New audit',
    show: ({ audit, organisation }) =>
      audit === null ? '–' : <Link href={`/transactions/${organisation}/${audit}`}>{audit}</Link>,
    wide: true,
  },
];

export default function Approvals(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const all = search.get('all') === 'true';
  const isOfMode = useIsOfMode();
  const query = useQuery({
    queryKey: ['approvals', all],
    // Until the merchants of this mode are known, the list would look empty.
    enabled: isOfMode !== undefined,
    queryFn: () => get<Request[]>(`/approvals?limit=100${all ? '&all=true' : ''}`),
    // A request is not a transaction yet, so the live stream does not announce it.
    refetchInterval: AGAIN_MS,
  });
  const mayAct = useMay('approval approve');
  const decide: Column<Request> = {
    key: 'decide',
    title: 'Decide',
    show: (request) => <Decide request={request} />,
  };
  return (
    <Page
      title="Approvals"
      actions={
        <Button variant="default" onClick={() => setSearch(all ? {} : { all: 'true' })}>
          {all ? 'Only what waits' : 'Also what is decided'}
        </Button>
      }
    >
      <List
        caption="Requests"
        query={query}
        only={({ merchant }) => isOfMode?.(merchant) ?? false}
        columns={mayAct ? [...COLUMNS, decide] : COLUMNS}
        keyOf={({ request }) => request}
        empty="Nothing waits for approval, or is being processed"
        emptyAdvice="Voids, refunds and completions above the limit wait here for a second operator."
      />
    </Page>
  );
}

function Decide({ request }: { readonly request: Request }): ReactNode {
  const act = useAct();
  const { operator } = useSession();
  const { request: id, state, operation, target_audit, amount_cents, currency, requested_by } = request;
  if (state !== 'waiting') return null;
  const isOwn = requested_by === `operator:${operator}`;
  const what = `${operation} of ${target_audit}, ${money(amount_cents, currency)}`;
  const path = `/approvals/${id}`;
  return (
    <>
      {!isOwn && (
        <DialogButton
          label="Approve"
          small
          dialog={(close) => (
            <FormDialog<Request>
              title={`Approve request ${id}`}
              submit="Approve"
              danger
              fields={[{ name: 'reason', label: 'Reason' }]}
              send={(body) => act(`${path}/approve`, body)}
              result={({ audit, status }) => (
                <p>
                  {audit === null ? 'It is still being processed.' : `Done: transaction ${audit}, ${status}.`}
                </p>
              )}
              close={close}
            >
              <p>
                {what}, asked for by {requested_by}: {request.reason}. It is done at once.
              </p>
            </FormDialog>
          )}
        />
      )}{' '}
      <DialogButton
        label={isOwn ? 'Take back' : 'Refuse'}
        small
        danger
        dialog={(close) => (
          <FormDialog
            title={`${isOwn ? 'Take back' : 'Refuse'} request ${id}`}
            submit={isOwn ? 'Take back' : 'Refuse'}
            danger
            fields={[{ name: 'reason', label: 'Reason' }]}
            send={(body) => act(`${path}/refuse`, body)}
            close={close}
          >
            <p>{what}. Nothing is done.</p>
          </FormDialog>
        )}
      />
    </>
  );
}
