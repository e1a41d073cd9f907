// Approvals: money above the limit, and other tasks, that wait for a second person.
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
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
import { ApprovalRules } from './approval-rules.js';
import { useIsOfMode } from './merchant-choice.js';

type Request = Answer<'GET /approvals'>[number];

const AGAIN_MS = 5_000;

const COLUMNS: readonly Column<Request>[] = [
  { key: 'request', title: 'Request', show: ({ request }) => request },
  {
    key: 'what',
    title: 'What',
    show: (request) => (
      <div className="words">
        {request.kind === 'task' ? (
          request.what
        ) : (
          <>
            {request.operation} of{' '}
            <Link href={`/transactions/${request.organisation}/${request.target_audit}`}>
              {request.target_audit}
            </Link>
            <div className="dim">{request.reason}</div>
          </>
        )}
      </div>
    ),
  },
  {
    key: 'amount',
    title: 'Amount',
    number: true,
    show: (request) => (request.kind === 'task' ? '–' : money(request.amount_cents, request.currency)),
  },
  {
    key: 'by',
    title: 'Asked for by',
    show: ({ requested_by, requested }) => (
      <>
        {nameOf(requested_by)}
        <div className="dim whole">{moment(requested)}</div>
      </>
    ),
  },
  {
    key: 'state',
    title: 'State',
    show: (request) => (
      <>
        <span title={(request.kind === 'transaction' && request.failure) || ''}>
          <Mark word={request.state} />
        </span>
        <div className="dim">{nextOf(request)}</div>
        {request.kind === 'transaction' && request.audit !== null && (
          <div className="dim">
            New transaction{' '}
            <Link href={`/transactions/${request.organisation}/${request.audit}`}>{request.audit}</Link>
          </div>
        )}
      </>
    ),
  },
];

/** Accounts of the operating system keep what they are: nobody has proved who they were. */
function nameOf(actor: string): string {
  return actor.replace(/^operator:/, '');
}

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
          {all ? 'Show open requests only' : 'Show decided requests, too'}
        </Button>
      }
    >
      <List
        caption="Requests"
        query={query}
        only={(request) => request.kind === 'task' || (isOfMode?.(request.merchant) ?? false)}
        columns={mayAct ? [...COLUMNS, decide] : COLUMNS}
        keyOf={({ request }) => request}
        wrapping
        empty="Nothing waits for approval, or is being processed"
        emptyAdvice="What needs a second person waits here."
      />
      <ApprovalRules />
    </Page>
  );
}

function Decide({ request }: { readonly request: Request }): ReactNode {
  const act = useAct();
  const { operator } = useSession();
  const { request: id, kind, state, what, requested_by, alone_from } = request;
  const isOwn = requested_by === `operator:${operator}`;
  if (state !== 'waiting') return null;
  const waitsAlone = isOwn && alone_from !== null;
  const path = `/approvals/${id}`;
  return (
    <span className="whole">
      {(!isOwn || (waitsAlone && Date.parse(alone_from) <= Date.now())) && (
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
              result={(approved) => <p>{resultOf(approved)}</p>}
              close={close}
            >
              <p>
                {what}, asked for by {nameOf(requested_by)}
                {kind === 'task'
                  ? '. They can then do it, once, within an hour.'
                  : `: ${request.reason}. It is done at once.`}
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
    </span>
  );
}

function resultOf(request: Request): string {
  if (request.kind === 'task') return `Approved: ${nameOf(request.requested_by)} can do it now.`;
  const { audit, status } = request;
  return audit === null ? 'It is still being processed.' : `Done: transaction ${audit}, ${status}.`;
}

function nextOf({ kind, state, requested_by, alone_from, expires }: Request): string {
  const name = nameOf(requested_by);
  if (state === 'waiting' && alone_from !== null)
    return `When it was asked for, nobody else could approve it: ${name} can, from ${moment(alone_from)} on.`;
  if (state === 'waiting') return `For a second person, until ${moment(expires)}.`;
  if (kind === 'task' && state === 'approved')
    return `${name} does the same again, until ${moment(expires)}.`;
  return '';
}
