// What an operator may do, and where they are signed in: to be changed and ended by an administrator.
import { Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import { Shown } from '../states.js';
import { count, moment } from '../words.js';

export const OPERATOR_ROLES = ['viewer', 'operator', 'administrator'];

type OperatorLine = Answer<'GET /operators'>[number];

export function Rights({ operator }: { readonly operator: OperatorLine }): ReactNode {
  const act = useAct();
  const { name, role, organisation } = operator;
  return (
    <DialogButton
      task="operator set"
      label="Change the role"
      small
      dialog={(close) => (
        <FormDialog
          title={`What ${name} may do`}
          submit="Change"
          fields={[
            {
              name: 'role',
              label: 'Role',
              kind: 'choice',
              required: true,
              choices: OPERATOR_ROLES,
              initial: role,
            },
            {
              name: 'organisation',
              label: 'Organisation',
              kind: 'number',
              initial: organisation,
              description: 'Empty: the whole installation',
            },
          ]}
          send={(body) => act(`${pathOf(name)}/set`, { organisation: null, ...body })}
          close={close}
        >
          <p>{name} is signed out everywhere, and has the new role at the next sign-in.</p>
        </FormDialog>
      )}
    />
  );
}

export function Sessions({ name }: { readonly name: string }): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      task="operator sign-out"
      label="Sessions"
      small
      dialog={(close) => (
        <FormDialog<{ readonly ended: number }>
          title={`Where ${name} is signed in`}
          submit="Sign out everywhere"
          danger
          send={() => act(`${pathOf(name)}/sign-out`)}
          result={({ ended }) => <p>{count(ended)} sessions were ended.</p>}
          close={close}
        >
          <OpenSessions name={name} />
        </FormDialog>
      )}
    />
  );
}

function OpenSessions({ name }: { readonly name: string }): ReactNode {
  const query = useRead('GET /operators/:name/sessions', { params: { name } });
  return (
    <Shown query={query}>
      {(sessions) =>
        sessions.length === 0 ? (
          <p className="dim">Nowhere.</p>
        ) : (
          <Stack gap="xs">
            {sessions.map(({ id, address, agent, method, seen_at }) => (
              <div key={id}>
                {address}, by {method}, last seen {moment(seen_at)}
                <div className="dim cut">{agent}</div>
              </div>
            ))}
          </Stack>
        )
      }
    </Shown>
  );
}

function pathOf(name: string): string {
  return `/operators/${encodeURIComponent(name)}`;
}
