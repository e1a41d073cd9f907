// Merchants: listed, added, changed, suspended and resumed; and the organisations that they belong to.
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import type { Field } from '../forms/field.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark, ModeMark } from '../marks.js';
import { useMode } from '../mode.js';
import { useMay, useSession } from '../session.js';
import { Page, Section } from '../shell/page.js';
import { moment } from '../words.js';
import { MerchantLook } from './merchant-look.js';

type Merchant = Answer<'GET /merchants'>[number];

const COLUMNS: readonly Column<Merchant>[] = [
  { key: 'id', title: 'Merchant', show: ({ id }) => id, sortBy: ({ id }) => id },
  {
    key: 'name',
    title: 'Name',
    show: ({ name }) => <div className="cut">{name}</div>,
    sortBy: ({ name }) => name,
  },
  { key: 'organisation', title: 'Organisation', show: ({ organisation }) => organisation, wide: true },
  { key: 'mode', title: 'Mode', show: ({ mode }) => <ModeMark mode={mode} /> },
  { key: 'acquirer', title: 'Acquirer', show: ({ acquirer }) => acquirer ?? '–', wide: true },
  { key: 'vault', title: 'Vault', show: ({ vault }) => (vault ? 'yes' : 'no'), wide: true },
  { key: 'preauth', title: 'Preauthorisation', show: (it) => `${it.preauthorisation_days} days`, wide: true },
  { key: 'cards', title: 'Cards kept', show: ({ card_days }) => `${card_days} days`, wide: true },
  {
    key: 'state',
    title: 'State',
    show: ({ suspended_at }) => <Mark word={suspended_at === undefined ? 'active' : 'suspended'} />,
  },
];

/** What its acquirer knows it by is set by operators of the whole installation, who set links, too. */
const SETTINGS = (mayLink: boolean, merchant?: Merchant): readonly Field[] => [
  { name: 'name', label: 'Name', required: merchant === undefined, initial: merchant?.name },
  { name: 'vault', label: 'Has the vault', kind: 'flag', initial: merchant?.vault ?? false },
  {
    name: 'preauthorisation_days',
    label: 'Days a preauthorisation lasts',
    kind: 'number',
    initial: merchant?.preauthorisation_days,
  },
  {
    name: 'card_days',
    label: 'Days cards are kept',
    kind: 'number',
    initial: merchant?.card_days,
    description: 'Card payments can be refunded for this long.',
  },
  ...(mayLink ? ACCEPTOR(merchant) : []),
];

const ACCEPTOR = (merchant?: Merchant): readonly Field[] => [
  { name: 'acquirer', label: 'Acquirer', initial: merchant?.acquirer },
  { name: 'acceptor_id', label: 'Acceptor ID', initial: merchant?.acceptor_id },
  { name: 'terminals', label: 'Terminals', kind: 'list', initial: merchant?.terminals?.join(' ') },
  { name: 'category_code', label: 'Category code', initial: merchant?.category_code },
];

export default function Merchants(): ReactNode {
  const query = useRead('GET /merchants');
  const mode = useMode();
  const mayChange = useMay('merchant set');
  const hasOrganisations = useMay('organisation list');
  const change: Column<Merchant> = {
    key: 'change',
    title: 'Change',
    show: (merchant) => <Change merchant={merchant} />,
  };
  return (
    <Page title="Merchants" actions={mayChange && <AddMerchant />}>
      <List
        caption="Merchants"
        query={query}
        columns={mayChange ? [...COLUMNS, change] : COLUMNS}
        keyOf={({ id }) => id}
        only={(merchant) => merchant.mode === mode}
        empty={`No ${mode} merchant`}
        emptyAdvice="Add one, or look at the other mode."
      />
      {hasOrganisations && <Organisations />}
    </Page>
  );
}

function AddMerchant(): ReactNode {
  const act = useAct();
  const mayLink = useMay('acquirer set');
  const { organisation: own } = useSession();
  const organisations = useRead('GET /organisations', {}, { when: own === null });
  const choices = (organisations.data ?? []).map(({ id, name }) => ({
    value: String(id),
    label: `${name} (${id})`,
  }));
  return (
    <DialogButton
      label="Add a merchant"
      primary
      dialog={(close) => (
        <FormDialog
          title="Add a merchant"
          submit="Add the merchant"
          fields={[
            ...(own === null
              ? [
                  {
                    name: 'organisation',
                    label: 'Organisation',
                    kind: 'choice',
                    required: true,
                    choices,
                  } as const,
                ]
              : []),
            ...SETTINGS(mayLink),
            { name: 'live', label: 'Live: real money, for good', kind: 'flag' },
          ]}
          send={({ organisation, ...body }) =>
            act('/merchants', { organisation: own ?? Number(organisation), ...body })
          }
          close={close}
        />
      )}
    />
  );
}

function Change({ merchant }: { readonly merchant: Merchant }): ReactNode {
  const act = useAct();
  const mayLink = useMay('acquirer set');
  const { id, name, suspended_at } = merchant;
  const verb = suspended_at === undefined ? 'suspend' : 'resume';
  return (
    <>
      <DialogButton
        label="Change"
        small
        dialog={(close) => (
          <FormDialog
            title={`Change ${name}`}
            submit="Save"
            fields={SETTINGS(mayLink, merchant)}
            // An acquirer that was emptied is taken away.
            send={(body) =>
              act(`/merchants/${id}`, { ...(merchant.acquirer && { acquirer: null }), ...body })
            }
            close={close}
          />
        )}
      />{' '}
      <DialogButton
        label="Look"
        small
        dialog={(close) => <MerchantLook merchant={merchant} close={close} />}
      />{' '}
      <DialogButton
        label={verb === 'suspend' ? 'Suspend' : 'Resume'}
        small
        danger={verb === 'suspend'}
        dialog={(close) => (
          <FormDialog
            title={`${verb === 'suspend' ? 'Suspend' : 'Resume'} ${name}`}
            submit={verb === 'suspend' ? 'Suspend' : 'Resume'}
            danger={verb === 'suspend'}
            send={(body) => act(`/merchants/${id}/${verb}`, body)}
            close={close}
          >
            <p>
              {verb === 'suspend'
                ? 'Nothing is created or changed for this merchant until it is resumed. Payments are refused.'
                : `Suspended since ${moment(suspended_at)}. Payments are taken again.`}
            </p>
          </FormDialog>
        )}
      />
    </>
  );
}

type Organisation = Answer<'GET /organisations'>[number];

const ORGANISATIONS: readonly Column<Organisation>[] = [
  { key: 'id', title: 'Organisation', show: ({ id }) => id },
  { key: 'name', title: 'Name', show: ({ name }) => <div className="cut">{name}</div> },
  {
    key: 'host',
    title: 'Host name',
    show: ({ host_name }) => <div className="cut">{host_name ?? 'any'}</div>,
  },
  {
    key: 'cell',
    title: 'Cell',
    show: ({ residence, moved_to }) => (moved_to === null ? residence : `${residence} to ${moved_to}`),
  },
  { key: 'created', title: 'Added', show: ({ created_at }) => moment(created_at) },
];

function HostName({ of: { id, name, host_name } }: { readonly of: Organisation }): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      label="Host name"
      small
      dialog={(close) => (
        <FormDialog
          title={`Host name of ${name}`}
          submit="Set it"
          fields={[{ name: 'name', label: 'Host name', initial: host_name }]}
          // Emptied, it is taken away.
          send={(body) => act(`/organisations/${id}/host`, { name: null, ...body })}
          close={close}
        >
          <p>
            Within two seconds its clients are served under this name alone. DNS and the proxy must know it.
          </p>
        </FormDialog>
      )}
    />
  );
}

function Organisations(): ReactNode {
  const query = useRead('GET /organisations');
  const act = useAct();
  const mayChange = useMay('organisation add');
  const mayName = useMay('organisation host');
  const columns = mayName
    ? [...ORGANISATIONS, { key: 'change', title: 'Change', show: (of: Organisation) => <HostName of={of} /> }]
    : ORGANISATIONS;
  return (
    <Section title="Organisations">
      <List
        caption="Organisations"
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        empty="No organisation"
        emptyAdvice="Add one; merchants belong to it."
      />
      {mayChange && (
        <DialogButton
          label="Add an organisation"
          dialog={(close) => (
            <FormDialog
              title="Add an organisation"
              submit="Add the organisation"
              fields={[{ name: 'name', label: 'Name', required: true }]}
              send={(body) => act('/organisations', body)}
              close={close}
            />
          )}
        />
      )}
    </Section>
  );
}
