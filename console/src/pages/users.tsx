// Users: the programs of merchants that call the API; what each may do, and from where.
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton, Secret } from '../forms/dialogs.js';
import type { Field } from '../forms/field.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark } from '../marks.js';
import { useMay } from '../session.js';
import { Page } from '../shell/page.js';
import { dayOf, endOfDay, moment } from '../words.js';

type User = Answer<'GET /users'>[number];

const COLUMNS: readonly Column<User>[] = [
  { key: 'username', title: 'User', show: ({ username }) => username, sortBy: ({ username }) => username },
  {
    key: 'merchant',
    title: 'Merchant',
    show: ({ merchant }) => merchant,
    sortBy: ({ merchant }) => merchant,
  },
  { key: 'grants', title: 'Also', show: ({ grants }) => grants.join(', ') || '–', wide: true },
  {
    key: 'allow',
    title: 'May',
    show: ({ allow }) => (
      <div className="cut" title={allow.join(', ')}>
        {allow.join(', ') || '–'}
      </div>
    ),
    wide: true,
  },
  {
    key: 'from',
    title: 'From',
    show: ({ from_addresses }) => from_addresses.join(', ') || 'anywhere',
    wide: true,
  },
  {
    key: 'expires',
    title: 'Expires',
    show: ({ expires }) => (expires === null ? 'never' : moment(expires)),
    wide: true,
  },
  { key: 'state', title: 'State', show: (user) => <Mark word={stateOf(user)} /> },
];

function stateOf({ revoked, sealed }: User): string {
  if (revoked) return 'revoked';
  return sealed ? 'active' : 'disabled';
}

const LIMITS = (user?: User): readonly Field[] => [
  {
    name: 'allow',
    label: 'May',
    kind: 'list',
    initial: user?.allow.join(' '),
    description: 'Of read, payments, refunds, standalone-refunds, vault',
  },
  {
    name: 'from_addresses',
    label: 'From addresses',
    kind: 'list',
    initial: user?.from_addresses.join(' '),
    description: 'Networks such as 203.0.113.0/24; empty: from anywhere',
  },
  {
    name: 'expires',
    label: 'Expires',
    kind: 'date',
    initial: user?.expires && dayOf(Date.parse(user.expires)),
  },
];

/** Until the end of the day that was chosen. */
function limitsIn({ expires, ...body }: Record<string, unknown>): Record<string, unknown> {
  return expires === undefined ? body : { ...body, expires: endOfDay(String(expires)) };
}

export default function Users(): ReactNode {
  const query = useRead('GET /users');
  const mayChange = useMay('user set');
  const change: Column<User> = { key: 'change', title: 'Change', show: (user) => <Change user={user} /> };
  return (
    <Page title="Users" actions={mayChange && <AddUser />}>
      <List
        caption="Users"
        query={query}
        columns={mayChange ? [...COLUMNS, change] : COLUMNS}
        keyOf={({ username }) => username}
        empty="No user"
        emptyAdvice="Add one: a merchant’s program calls the API by its name and secret."
      />
    </Page>
  );
}

function AddUser(): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      label="Add a user"
      primary
      dialog={(close) => (
        <FormDialog<{ readonly username: string; readonly password: string }>
          title="Add a user"
          submit="Add the user"
          fields={[
            { name: 'username', label: 'Name', required: true },
            { name: 'merchant', label: 'Merchant', kind: 'number', required: true },
            ...LIMITS(),
          ]}
          send={(body) => act('/users', limitsIn(body))}
          result={({ username, password }) => <Secret what={`The secret of ${username}.`} value={password} />}
          close={close}
        />
      )}
    />
  );
}

function Change({ user }: { readonly user: User }): ReactNode {
  const act = useAct();
  const { username, revoked } = user;
  const path = `/users/${encodeURIComponent(username)}`;
  if (revoked) return null;
  return (
    <>
      <DialogButton
        label="Limits"
        small
        dialog={(close) => (
          <FormDialog
            title={`Limits of ${username}`}
            submit="Save"
            fields={LIMITS(user)}
            // What was emptied is taken away.
            send={(body) => act(path, { from_addresses: [], expires: null, ...limitsIn(body) })}
            close={close}
          />
        )}
      />{' '}
      <DialogButton
        label="Merchants"
        small
        dialog={(close) => (
          <FormDialog
            title={`Merchants of ${username}`}
            submit="Save"
            fields={[
              { name: 'merchant', label: 'Merchant', kind: 'number', required: true },
              { name: 'take', label: 'Take it away', kind: 'flag', description: 'Otherwise it is granted.' },
            ]}
            send={({ merchant, take }) => act(`${path}/${take === true ? 'ungrant' : 'grant'}`, { merchant })}
            close={close}
          />
        )}
      />{' '}
      <DialogButton
        label="New secret"
        small
        dialog={(close) => (
          <FormDialog<{ readonly password: string }>
            title={`New secret of ${username}`}
            submit="Make a new secret"
            fields={[
              {
                name: 'overlap_hours',
                label: 'Hours the old secret keeps working',
                kind: 'number',
                description: 'Empty: refused at once.',
              },
            ]}
            send={({ overlap_hours: hours }) =>
              act(`${path}/rotate`, hours === undefined ? {} : { overlap_ms: Number(hours) * 3_600_000 })
            }
            result={({ password }) => <Secret what={`The new secret of ${username}.`} value={password} />}
            close={close}
          />
        )}
      />{' '}
      <DialogButton
        label="Revoke"
        small
        danger
        dialog={(close) => (
          <FormDialog
            title={`Revoke ${username}`}
            submit="Revoke for good"
            danger
            send={(body) => act(`${path}/revoke`, body)}
            close={close}
          >
            <p>The API refuses this user within two seconds, for good.</p>
          </FormDialog>
        )}
      />
    </>
  );
}
