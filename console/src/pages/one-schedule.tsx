// One schedule: what it pays, its dates and why some have failed; to pause, resume and cancel it.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { transactionAt } from '../lists/filtered.js';
import { Page, Section } from '../shell/page.js';
import { Empty, Shown } from '../states.js';
import { moment, money, spaced } from '../words.js';
import { Facts } from './facts.js';
import { StateMark } from './schedules.js';

type Schedule = Answer<'GET /schedules/:merchant/:id'>;
type ScheduledDate = Schedule['dates'][number];

const AGAIN_MS = 5_000;

export default function OneSchedule({
  params,
}: {
  readonly params: { readonly merchant: string; readonly id: string };
}): ReactNode {
  const query = useRead('GET /schedules/:merchant/:id', { params }, { everyMs: AGAIN_MS });
  const { data } = query;
  return (
    <Page
      title={data === undefined ? 'Schedule' : `Schedule ${data.reference}`}
      beside={data !== undefined && <StateMark word={data.status} />}
      actions={data !== undefined && <Turns schedule={data} />}
    >
      <Shown query={query}>
        {(schedule) => (
          <>
            <Section
              title={`${money(schedule.amount_cents ?? 0, schedule.currency ?? '')} ${schedule.every}`}
            >
              <Facts facts={factsOf(schedule)} />
            </Section>
            <Dates schedule={schedule} />
          </>
        )}
      </Shown>
    </Page>
  );
}

function factsOf(schedule: Schedule): Readonly<Record<string, ReactNode>> {
  const { organisation, customer, paid, failed, skipped } = schedule;
  return {
    ID: schedule.id,
    Merchant: `${schedule.merchant}, organisation ${organisation}`,
    Reference: schedule.reference,
    Customer: <Link href={`/customers/${organisation}/${customer}`}>{customer}</Link>,
    Token: `${schedule.token}, ${schedule.method === 'creditcard' ? 'card' : 'bank account'}`,
    'Next date': schedule.next,
    Ends: schedule.count === null ? schedule.until : `after ${schedule.count} dates`,
    'After a failure': schedule.on_failure === 'pause' ? 'it pauses' : 'it goes on with the next date',
    Created: moment(schedule.created),
    Dates: `${paid} paid, ${failed} failed, ${skipped} skipped`,
  };
}

function Dates({ schedule: { organisation, dates } }: { readonly schedule: Schedule }): ReactNode {
  const columns: readonly Column<ScheduledDate>[] = [
    { key: 'date', title: 'Date', show: ({ date }) => date },
    { key: 'status', title: 'State', show: ({ status }) => <StateMark word={status} /> },
    {
      key: 'audit',
      title: 'Transaction',
      show: ({ audit }) =>
        audit === null ? '–' : <Link href={transactionAt({ organisation, audit })}>{audit}</Link>,
    },
    { key: 'reason', title: 'Why', show: ({ reason }) => (reason === null ? '–' : spaced(reason)) },
    {
      key: 'again',
      title: 'Tried again',
      show: ({ again }) => (again === null ? '–' : moment(again)),
      wide: true,
    },
  ];
  return (
    <Section title="Dates">
      {dates.length === 0 ? (
        <Empty title="No date has come yet" />
      ) : (
        <DataTable caption="Dates" columns={columns} rows={dates} keyOf={({ date }) => date} />
      )}
    </Section>
  );
}

function Turns({ schedule }: { readonly schedule: Schedule }): ReactNode {
  const { status } = schedule;
  return (
    <>
      {status === 'active' && (
        <Turn schedule={schedule} what="pause" label="Pause">
          Nothing is paid until it is resumed. Dates that pass meanwhile are skipped.
        </Turn>
      )}
      {status === 'paused' && (
        <Turn schedule={schedule} what="resume" label="Resume">
          It goes on. Dates that have passed are skipped; today’s is paid.
        </Turn>
      )}
      {(status === 'active' || status === 'paused') && (
        <Turn schedule={schedule} what="cancel" label="Cancel" danger>
          Nothing of it is paid any more, and it cannot be brought back.
        </Turn>
      )}
    </>
  );
}

function Turn({
  schedule: { merchant, id, reference },
  what,
  label,
  danger = false,
  children,
}: {
  readonly schedule: Schedule;
  readonly what: 'pause' | 'resume' | 'cancel';
  readonly label: string;
  readonly danger?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      task={`schedule ${what}`}
      label={label}
      danger={danger}
      dialog={(close) => (
        <FormDialog
          title={`${label} ${reference}`}
          submit={`${label} the schedule`}
          danger={danger}
          send={() => act(`/schedules/${merchant}/${id}/${what}`)}
          close={close}
        >
          <p>{children}</p>
        </FormDialog>
      )}
    />
  );
}
