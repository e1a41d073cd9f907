// Webhooks: endpoints of merchants, and to add one.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton, Secret } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark, ModeMark } from '../marks.js';
import { useMode } from '../mode.js';
import { Page } from '../shell/page.js';
import { count, moment } from '../words.js';
import { useMerchantChoice } from './merchant-choice.js';
import { AGAIN_MS, type NewSecret, OneWebhook } from './one-webhook.js';

type Webhook = Answer<'GET /webhooks'>[number];

const COLUMNS: readonly Column<Webhook>[] = [
  {
    key: 'id',
    title: 'Endpoint',
    show: ({ id }) => (
      <Link href={`/webhooks/${id}`} data-row-link>
        {id}
      </Link>
    ),
    sortBy: ({ id }) => id,
  },
  {
    key: 'url',
    title: 'Address',
    show: ({ url }) => (
      <div className="cut" title={url}>
        {url}
      </div>
    ),
  },
  { key: 'state', title: 'State', show: ({ state }) => <Mark word={state} /> },
  {
    key: 'waiting',
    title: 'Waiting',
    number: true,
    show: ({ waiting }) => count(waiting),
    sortBy: ({ waiting }) => waiting,
  },
  { key: 'delivered', title: 'Last delivery', show: ({ delivered_at }) => moment(delivered_at), wide: true },
  { key: 'types', title: 'Types', show: ({ types }) => types?.join(', ') ?? 'all', wide: true },
  { key: 'merchant', title: 'Merchant', show: ({ merchant }) => merchant, wide: true },
  { key: 'mode', title: 'Mode', show: ({ mode }) => <ModeMark mode={mode} />, wide: true },
];

export default function Webhooks({ params }: { readonly params: { readonly id?: string } }): ReactNode {
  return params.id === undefined ? <AllWebhooks /> : <OneWebhook id={params.id} />;
}

function AllWebhooks(): ReactNode {
  const { merchant, chooser } = useMerchantChoice('all');
  const query = useRead('GET /webhooks', { query: { merchant } }, { everyMs: AGAIN_MS });
  const act = useAct();
  const mode = useMode();
  return (
    <Page
      title="Webhooks"
      beside={chooser}
      actions={
        <DialogButton
          task="webhook add"
          label="Add an endpoint"
          primary
          dialog={(close) => (
            <FormDialog<NewSecret>
              title="Add an endpoint"
              submit="Add the endpoint"
              fields={[
                {
                  name: 'merchant',
                  label: 'Merchant',
                  kind: 'number',
                  required: true,
                  initial: merchant,
                },
                {
                  name: 'url',
                  label: 'Address',
                  required: true,
                  placeholder: 'https://shop.example/webhooks',
                },
                {
                  name: 'types',
                  label: 'Types of events',
                  kind: 'list',
                  description: 'Empty: all of them',
                },
              ]}
              send={(body) => act('/webhooks', body)}
              result={({ id, secret }) => <Secret what={`The secret of endpoint ${id}.`} value={secret} />}
              close={close}
            />
          )}
        />
      }
    >
      <List
        caption="Endpoints"
        query={query}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        only={(webhook) => webhook.mode === mode}
        empty="No endpoint"
        emptyAdvice="Add one, and the merchant is told of every event within seconds."
      />
    </Page>
  );
}
