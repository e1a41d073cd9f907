// Acquirers: the links to them, how they do, and to add, change, try and remove one.
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import type { Field } from '../forms/field.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { ModeMark } from '../marks.js';
import { useMay } from '../session.js';
import { Page, Section } from '../shell/page.js';
import { Shown } from '../states.js';
import { count } from '../words.js';
import { AllFacts } from './facts.js';
import { ConditionMark, InWords, sinceAndWhy } from './link-condition.js';

type Acquirer = Answer<'GET /acquirers'>[number];

const COLUMNS: readonly Column<Acquirer>[] = [
  {
    key: 'name',
    title: 'Link',
    show: ({ name }) => (
      <Link href={`/acquirers/${name}`} data-row-link>
        {name}
      </Link>
    ),
    sortBy: ({ name }) => name,
  },
  { key: 'mode', title: 'Mode', show: ({ mode }) => <ModeMark mode={mode} /> },
  {
    key: 'condition',
    title: 'State',
    show: ({ condition }) => <ConditionMark condition={condition} />,
    sortBy: ({ condition }) => condition,
  },
  { key: 'why', title: 'Since when, and why', show: sinceAndWhy, wide: true },
  { key: 'address', title: 'Address', show: ({ address }) => address, wide: true },
  {
    key: 'signed',
    title: 'Gateways signed on',
    number: true,
    show: ({ gateways, gateways_signed_on }) => `${count(gateways_signed_on)} of ${count(gateways)}`,
  },
];

interface Settings {
  readonly address?: string;
  readonly dialect?: string;
  readonly connections?: number;
  readonly institution?: string | null;
  readonly deadline_ms?: number;
  readonly tls?: boolean;
}

const SETTINGS = (now: Settings = {}): readonly Field[] => [
  { name: 'address', label: 'Address', required: true, placeholder: 'host:port', initial: now.address },
  { name: 'tls', label: 'TLS', kind: 'flag', initial: now.tls ?? true },
  {
    name: 'trusted',
    label: 'Certificates to trust',
    kind: 'lines',
    description: 'In PEM; empty: as they are',
  },
  { name: 'dialect', label: 'Dialect', initial: now.dialect },
  { name: 'connections', label: 'Connections', kind: 'number', initial: now.connections },
  { name: 'institution', label: 'Institution', initial: now.institution },
  { name: 'deadline_ms', label: 'Deadline in milliseconds', kind: 'number', initial: now.deadline_ms },
  {
    name: 'mac_keys',
    label: 'MAC keys',
    kind: 'secret',
    description: '32 hexadecimal digits: one, or one for sending and one for receiving; empty: as they are',
  },
];

export default function Acquirers({ params }: { readonly params: { readonly name?: string } }): ReactNode {
  return params.name === undefined ? <AllAcquirers /> : <OneAcquirer name={params.name} />;
}

function AllAcquirers(): ReactNode {
  const query = useRead('GET /acquirers', {}, { everyMs: 10_000 });
  const act = useAct();
  const mayChange = useMay('acquirer add');
  return (
    <Page
      title="Acquirers"
      actions={
        mayChange && (
          <DialogButton
            label="Add a link"
            primary
            dialog={(close) => (
              <FormDialog
                title="Add a link to an acquirer"
                submit="Add the link"
                fields={[
                  { name: 'name', label: 'Name', required: true },
                  ...SETTINGS(),
                  { name: 'test', label: 'For test merchants, for good', kind: 'flag' },
                ]}
                send={(body) => act('/acquirers', body)}
                close={close}
              />
            )}
          />
        )
      }
    >
      <List
        caption="Links to acquirers"
        query={query}
        columns={COLUMNS}
        keyOf={({ name }) => name}
        empty="No link to an acquirer"
        emptyAdvice="Test merchants pay through the simulator. Live cards need a link: add one."
      />
    </Page>
  );
}

function OneAcquirer({ name }: { readonly name: string }): ReactNode {
  const query = useRead('GET /acquirers/:name', { params: { name } }, { everyMs: 10_000 });
  return (
    <Page
      title={name}
      beside={query.data !== undefined && <ModeMark mode={query.data.mode} />}
      actions={query.data !== undefined && <Change acquirer={query.data} />}
    >
      <Shown query={query}>
        {({ gateways, condition, since, reason, ...acquirer }) => (
          <>
            <p>
              <InWords condition={condition} since={since} reason={reason} />
            </p>
            <Section title="Settings">
              <AllFacts of={acquirer} />
            </Section>
            <Section title={`Gateways that run (${count(gateways.length)})`}>
              {gateways.map((gateway) => (
                <AllFacts key={JSON.stringify(gateway)} of={gateway} />
              ))}
            </Section>
          </>
        )}
      </Shown>
      <Button component={Link} href="/acquirers" variant="default">
        All links
      </Button>
    </Page>
  );
}

interface Trial {
  readonly [member: string]: unknown;
}

function Change({ acquirer }: { readonly acquirer: Answer<'GET /acquirers/:name'> }): ReactNode {
  const act = useAct();
  const [, navigate] = useLocation();
  const { name } = acquirer;
  return (
    <>
      <DialogButton
        task="acquirer test"
        label="Try"
        dialog={(close) => (
          <FormDialog<Trial>
            title={`Try ${name}`}
            submit="Try it"
            send={() => act(`/acquirers/${name}/test`)}
            result={(trial) => <AllFacts of={trial} />}
            close={close}
          >
            <p>The gateway connects, signs on and reports the result. It sends no payment.</p>
          </FormDialog>
        )}
      />
      <DialogButton
        task="acquirer set"
        label="Change"
        dialog={(close) => (
          <FormDialog
            title={`Change ${name}`}
            submit="Save"
            fields={SETTINGS(acquirer)}
            send={(body) => act(`/acquirers/${name}`, body)}
            close={close}
          >
            <p>Gateways reconnect within seconds.</p>
          </FormDialog>
        )}
      />
      <DialogButton
        task="acquirer remove"
        label="Remove"
        danger
        dialog={(close) => (
          <FormDialog
            title={`Remove ${name}`}
            submit="Remove for good"
            danger
            send={async () => {
              await act(`/acquirers/${name}/remove`);
              navigate('/acquirers');
            }}
            close={close}
          >
            <p>Refused while a merchant uses the link, or a transaction over it is in doubt.</p>
          </FormDialog>
        )}
      />
    </>
  );
}
