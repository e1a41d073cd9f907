// Limits against card testing: what a merchant has, and what they have caught.
import { Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark } from '../marks.js';
import { Page } from '../shell/page.js';
import { Empty } from '../states.js';
import { count, moment } from '../words.js';
import { useMerchantChoice } from './merchant-choice.js';

type Limit = Answer<'GET /limits'>[number];
type Reached = Answer<'GET /limits/reached'>[number];

const MINUTE_MS = 60_000;
const AGAIN_MS = 10_000;

const NAMES: Readonly<Record<Reached['per'], string>> = {
  card: 'Card',
  address: 'Payer’s address',
  bin: 'Issuer (first 8 digits)',
  customer: 'Customer',
  checkout: 'Checkout',
  retry: 'Card that must not be tried again',
};
const PER = Object.entries(NAMES)
  .filter(([value]) => value !== 'retry')
  .map(([value, label]) => ({ value, label }));

const LIMITS: readonly Column<Limit>[] = [
  { key: 'per', title: 'Per', show: ({ per }) => NAMES[per], sortBy: ({ per }) => NAMES[per] },
  { key: 'attempts', title: 'Attempts', number: true, show: ({ attempts }) => count(attempts) },
  { key: 'declines', title: 'Declines', number: true, show: ({ declines }) => declines ?? '–' },
  { key: 'within', title: 'Within', show: ({ within }) => within },
  { key: 'mode', title: 'Beyond it', show: ({ mode }) => (mode === 'block' ? 'is blocked' : 'is told of') },
  {
    key: 'of',
    title: 'For',
    show: ({ of }) => (of === 'checkouts' ? 'checkouts, from the start' : 'all payments'),
  },
];

const REACHED: readonly Column<Reached>[] = [
  { key: 'last', title: 'Last', show: ({ last_at }) => moment(last_at), sortBy: ({ last_at }) => last_at },
  {
    key: 'mode',
    title: 'Came to',
    show: ({ mode }) => <Mark word={mode === 'block' ? 'blocked' : 'watched'} />,
  },
  { key: 'per', title: 'Per', show: ({ per }) => NAMES[per] },
  { key: 'what', title: 'Which', show: ({ what }) => what },
  {
    key: 'times',
    title: 'Times',
    number: true,
    show: ({ times }) => count(times),
    sortBy: ({ times }) => times,
  },
  { key: 'first', title: 'Since', show: ({ first_at }) => moment(first_at), wide: true },
];

export default function Limits(): ReactNode {
  const { merchant, chooser } = useMerchantChoice();
  const when = merchant !== undefined;
  const limits = useRead('GET /limits', { query: { merchant } }, { when });
  const reached = useRead('GET /limits/reached', { query: { merchant } }, { when, everyMs: AGAIN_MS });
  const act = useAct();
  return (
    <Page
      title="Limits"
      beside={chooser}
      actions={
        merchant !== undefined && (
          <>
            <DialogButton
              task="limit set"
              label="Set a limit"
              primary
              dialog={(close) => (
                <FormDialog
                  title="Set a limit"
                  submit="Set it"
                  fields={[
                    { name: 'per', label: 'Per', kind: 'choice', required: true, choices: PER },
                    {
                      name: 'attempts',
                      label: 'Attempts that are let through',
                      kind: 'number',
                      required: true,
                    },
                    {
                      name: 'minutes',
                      label: 'Within, in minutes',
                      kind: 'number',
                      required: true,
                      initial: 60,
                    },
                    {
                      name: 'declines',
                      label: 'Declines that are enough',
                      kind: 'number',
                      description: 'Empty: only attempts count.',
                    },
                    {
                      name: 'mode',
                      label: 'What goes beyond it',
                      kind: 'choice',
                      required: true,
                      choices: [
                        { value: 'watch', label: 'is paid, and told of' },
                        { value: 'block', label: 'is blocked' },
                      ],
                    },
                  ]}
                  send={({ minutes, ...limit }) =>
                    act(`/limits/${merchant}/set`, { ...limit, within_ms: Number(minutes) * MINUTE_MS })
                  }
                  close={close}
                >
                  <p>
                    One for the same thing and time is replaced. Per card or address, one that blocks takes
                    the place of the one that checkouts have from the start.
                  </p>
                </FormDialog>
              )}
            />
            <DialogButton
              task="limit off"
              label="Take limits away"
              danger
              dialog={(close) => (
                <FormDialog
                  title="Take limits away"
                  submit="Take them away"
                  danger
                  fields={[{ name: 'per', label: 'Only those per', kind: 'choice', choices: PER }]}
                  send={(only) => act(`/limits/${merchant}/off`, only)}
                  close={close}
                >
                  <p>Those that checkouts have from the start stay.</p>
                </FormDialog>
              )}
            />
          </>
        )
      }
    >
      {merchant === undefined ? (
        <Empty title="No merchant to choose">Add a merchant first.</Empty>
      ) : (
        <Stack>
          <List
            caption="Limits"
            query={limits}
            columns={LIMITS}
            keyOf={({ of, per, within, mode }) => `${of} ${per} ${within} ${mode}`}
            empty="No limit"
          />
          <Title order={2} size="h4">
            Reached in the last 30 days
          </Title>
          <List
            caption="What has reached a limit"
            query={reached}
            columns={REACHED}
            keyOf={({ mode, per, what }) => `${mode} ${per} ${what}`}
            empty="Nothing has reached a limit"
          />
        </Stack>
      )}
    </Page>
  );
}
