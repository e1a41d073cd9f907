// Operators: the people who may use this console, by role and organisation.
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct, useSave } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton, Secret } from '../forms/dialogs.js';
import type { Field } from '../forms/field.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark } from '../marks.js';
import { useMay, useSession } from '../session.js';
import { Page } from '../shell/page.js';
import { moment } from '../words.js';
import { OPERATOR_ROLES, Rights, Sessions } from './operator-rights.js';

type OperatorLine = Answer<'GET /operators'>[number];

const COLUMNS: readonly Column<OperatorLine>[] = [
  { key: 'name', title: 'Name', show: ({ name }) => name, sortBy: ({ name }) => name },
  { key: 'state', title: 'State', show: (operator) => <Mark word={stateOf(operator)} /> },
  { key: 'role', title: 'Role', show: ({ role }) => role, sortBy: ({ role }) => role },
  { key: 'organisation', title: 'Organisation', show: ({ organisation }) => organisation ?? 'all' },
  {
    key: 'means',
    title: 'Signs in by',
    show: ({ signs_in_by }) => signs_in_by.join(', ') || 'nothing yet',
    wide: true,
  },
  {
    key: 'added',
    title: 'Added by',
    show: ({ added_by, added_at }) =>
      added_by === null ? '–' : `${added_by.replace(/^operator:/, '')}, ${moment(added_at)}`,
    wide: true,
  },
  {
    key: 'seen',
    title: 'Last signed in',
    show: ({ last_signed_in }) => moment(last_signed_in),
    wide: true,
  },
  { key: 'link', title: 'Link works until', show: ({ link_until }) => moment(link_until), wide: true },
];

function stateOf({ removed, sealed, disabled }: OperatorLine): string {
  if (removed) return 'removed';
  if (!sealed) return 'changed';
  return disabled ? 'disabled' : 'active';
}

const RIGHTS: readonly Field[] = [
  { name: 'role', label: 'Role', kind: 'choice', required: true, choices: OPERATOR_ROLES },
  {
    name: 'organisation',
    label: 'Organisation',
    kind: 'number',
    description: 'Empty: the whole installation',
  },
];

interface NewLink {
  readonly name: string;
  readonly link: string;
}

function shownLink({ name, link }: NewLink): ReactNode {
  return (
    <Secret
      what={`Give this link to ${name}. It works once, for 15 minutes, and not in your own browser.`}
      value={link}
    />
  );
}

export default function Operators(): ReactNode {
  const query = useRead('GET /operators');
  const act = useAct();
  const save = useSave();
  const mayChange = useMay('operator add');
  const mayReview = useMay('operator review');
  const change: Column<OperatorLine> = {
    key: 'change',
    title: 'Change',
    show: (operator) => <Change operator={operator} />,
  };
  return (
    <Page
      title="Operators"
      actions={
        <>
          {mayReview && (
            <Button variant="default" onClick={() => void save('/operators/review.csv')}>
              Review access
            </Button>
          )}
          {mayChange && (
            <DialogButton
              label="Add an operator"
              primary
              dialog={(close) => (
                <FormDialog<NewLink>
                  title="Add an operator"
                  submit="Add the operator"
                  fields={[{ name: 'name', label: 'Name', required: true }, ...RIGHTS]}
                  send={(body) => act('/operators', body)}
                  result={shownLink}
                  close={close}
                />
              )}
            />
          )}
        </>
      }
    >
      <List
        caption="Operators"
        query={query}
        columns={mayChange ? [...COLUMNS, change] : COLUMNS}
        keyOf={({ name }) => name}
        empty="No operator"
      />
    </Page>
  );
}

function Change({ operator }: { readonly operator: OperatorLine }): ReactNode {
  const act = useAct();
  const { operator: self } = useSession();
  const { name, removed, disabled } = operator;
  const path = `/operators/${encodeURIComponent(name)}`;
  if (removed) return null;
  return (
    <>
      {disabled && (
        <DialogButton
          label="Enable"
          small
          dialog={(close) => (
            <FormDialog
              title={`Enable ${name}`}
              submit="Enable"
              send={() => act(`${path}/enable`)}
              close={close}
            >
              <p>{name} has not signed in for 90 days. From now on they can sign in again.</p>
            </FormDialog>
          )}
        />
      )}{' '}
      <DialogButton
        label="New link"
        small
        dialog={(close) => (
          <FormDialog<NewLink>
            title={`New sign-in link for ${name}`}
            submit="Make a link"
            send={() => act(`${path}/link`)}
            result={shownLink}
            close={close}
          >
            <p>Links made for {name} before stop working.</p>
          </FormDialog>
        )}
      />{' '}
      {name !== self && <Rights operator={operator} />} <Sessions name={name} />{' '}
      {name !== self && (
        <DialogButton
          label="Remove"
          small
          danger
          dialog={(close) => (
            <FormDialog
              title={`Remove ${name}`}
              submit="Remove for good"
              danger
              send={() => act(`${path}/remove`)}
              close={close}
            >
              <p>{name} is signed out at once and cannot come back. The name is not given to anybody else.</p>
            </FormDialog>
          )}
        />
      )}
    </>
  );
}
