// The operator's own account: where they are signed in, and further ways to sign in.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { PasskeyView, SessionView } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { get } from '../api/calls.js';
import { DialogButton, Secret } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark } from '../marks.js';
import { useSession } from '../session.js';
import { Page, Section } from '../shell/page.js';
import { addPasskey } from '../sign-in/calls.js';
import { moment } from '../words.js';
import { Facts } from './facts.js';

export default function Account(): ReactNode {
  const { operator, role, organisation, method, ends_at } = useSession();
  const query = useQuery({ queryKey: ['sessions'], queryFn: () => get<SessionView[]>('/sessions') });
  const act = useAct();
  const columns: readonly Column<SessionView>[] = [
    { key: 'since', title: 'Since', show: ({ created_at }) => moment(String(created_at)) },
    { key: 'seen', title: 'Seen last', show: ({ seen_at }) => moment(String(seen_at)) },
    {
      key: 'method',
      title: 'By',
      show: ({ method: by, stage, current }) => (
        <>
          <span>{stage === 'command_line' ? 'command line' : by}</span> {current && <Mark word="this one" />}
        </>
      ),
    },
    { key: 'address', title: 'From', show: ({ address }) => address, wide: true },
    {
      key: 'agent',
      title: 'Browser',
      show: ({ agent }) => (
        <div className="cut" title={agent}>
          {agent}
        </div>
      ),
      wide: true,
    },
    {
      key: 'end',
      title: 'End',
      show: ({ id, current }) =>
        !current && (
          <DialogButton
            label="End"
            small
            danger
            dialog={(close) => (
              <FormDialog
                title="End this session"
                submit="End it"
                danger
                send={() => act(`/sessions/${id}/end`)}
                close={close}
              />
            )}
          />
        ),
    },
  ];
  return (
    <Page title="Sign-in and sessions">
      <Section title={operator}>
        <Facts
          facts={{
            Role: role,
            Organisation: organisation ?? 'all',
            'Signed in by': method,
            'Session ends': moment(ends_at),
          }}
        />
      </Section>
      <Section title="Where you are signed in">
        <List caption="Sessions" query={query} columns={columns} keyOf={({ id }) => id} empty="No session" />
      </Section>
      <Passkeys />
      <CommandLine />
    </Page>
  );
}

interface CommandLineToken {
  readonly token: string;
}

function CommandLine(): ReactNode {
  const act = useAct();
  return (
    <Section title="Command line">
      <p>A token shows commands who you are. It works for 15 minutes, or until you sign out everywhere.</p>
      <DialogButton
        label="Make a token"
        dialog={(close) => (
          <FormDialog<CommandLineToken>
            title="Token for the command line"
            submit="Make it"
            send={() => act('/command-line-token')}
            result={({ token }) => (
              <Secret
                what="Give it to commands as TOLLGATE_OPERATOR_TOKEN, or when they ask for it."
                value={token}
              />
            )}
            close={close}
          />
        )}
      />
    </Section>
  );
}

function Passkeys(): ReactNode {
  const query = useQuery({ queryKey: ['passkeys'], queryFn: () => get<PasskeyView[]>('/passkeys') });
  const act = useAct();
  const columns: readonly Column<PasskeyView>[] = [
    { key: 'label', title: 'Passkey', show: ({ label }) => label },
    { key: 'added', title: 'Added', show: ({ added_at }) => moment(String(added_at)) },
    {
      key: 'remove',
      title: 'Remove',
      show: ({ id, label }) => (
        <DialogButton
          label="Remove"
          small
          danger
          dialog={(close) => (
            <FormDialog
              title={`Remove ${label}`}
              submit="Remove"
              danger
              send={() => act(`/passkeys/${encodeURIComponent(id)}/remove`)}
              close={close}
            >
              <p>It can no longer be used to sign in.</p>
            </FormDialog>
          )}
        />
      ),
    },
  ];
  return (
    <Section title="Your passkeys">
      <List
        caption="Passkeys"
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        empty="No passkey"
        emptyAdvice="Add one for each device that you use."
      />
      <DialogButton
        label="Add a passkey"
        dialog={(close) => (
          <FormDialog
            title="Add a passkey"
            submit="Add it"
            fields={[{ name: 'label', label: 'What to call it', required: true, initial: 'This device' }]}
            send={({ label }) => addPasskey(act, String(label))}
            close={close}
          />
        )}
      />
    </Section>
  );
}
