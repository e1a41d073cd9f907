// Webhooks: endpoints of merchants, what was delivered to them, and to test, replay, rotate, switch off and remove one.
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
import { Page, Section } from '../shell/page.js';
import { count, moment } from '../words.js';
import { Facts } from './facts.js';
import { useMerchantChoice } from './merchant-choice.js';

type Webhook = Answer<'GET /webhooks'>[number];
type Delivery = Answer<'GET /webhooks/:id/deliveries'>[number];

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
  { key: 'delivered', title: 'Delivered last', show: ({ delivered_at }) => moment(delivered_at), wide: true },
  { key: 'types', title: 'Types', show: ({ types }) => types?.join(', ') ?? 'all', wide: true },
  { key: 'merchant', title: 'Merchant', show: ({ merchant }) => merchant, wide: true },
  { key: 'mode', title: 'Mode', show: ({ mode }) => <ModeMark mode={mode} />, wide: true },
];

export default function Webhooks({ params }: { readonly params: { readonly id?: string } }): ReactNode {
  return params.id === undefined ? <AllWebhooks /> : <OneWebhook id={params.id} />;
}

interface NewSecret {
  readonly id: number;
  readonly secret: string;
}

function AllWebhooks(): ReactNode {
  const { merchant, chooser } = useMerchantChoice('all');
  const query = useRead('GET /webhooks', { query: { merchant } });
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

const DELIVERIES: readonly Column<Delivery>[] = [
  { key: 'at', title: 'When', show: ({ at }) => moment(at) },
  { key: 'type', title: 'Type', show: ({ type }) => type },
  { key: 'result', title: 'Result', show: ({ result }) => <Mark word={result} /> },
  { key: 'status', title: 'HTTP', show: ({ http_status }) => http_status ?? '–' },
  { key: 'attempt', title: 'Attempt', number: true, show: ({ attempt }) => count(attempt) },
  {
    key: 'duration',
    title: 'Took',
    number: true,
    show: ({ duration_ms }) => `${count(duration_ms)} ms`,
    wide: true,
  },
  { key: 'event', title: 'Event', show: ({ event }) => event, wide: true },
  {
    key: 'response',
    title: 'Answer',
    show: ({ response }) => (
      <div className="cut" title={response ?? ''}>
        {response ?? '–'}
      </div>
    ),
    wide: true,
  },
];

function OneWebhook({ id }: { readonly id: string }): ReactNode {
  const all = useRead('GET /webhooks');
  const deliveries = useRead('GET /webhooks/:id/deliveries', { params: { id }, query: { limit: 200 } });
  const webhook = all.data?.find((one) => one.id === Number(id));
  return (
    <Page
      title={`Endpoint ${id}`}
      beside={webhook !== undefined && <Mark word={webhook.state} />}
      actions={webhook !== undefined && <Change webhook={webhook} />}
    >
      {webhook !== undefined && (
        <Section title="Settings">
          <Facts
            facts={{
              Address: webhook.url,
              Merchant: webhook.merchant,
              Types: webhook.types?.join(', ') ?? 'all',
              Because: webhook.because,
              Since: webhook.since === null ? null : moment(webhook.since),
              Waiting: count(webhook.waiting),
              'Delivered last': moment(webhook.delivered_at),
            }}
          />
        </Section>
      )}
      <Section title="Deliveries">
        <List
          caption="Deliveries"
          query={deliveries}
          columns={DELIVERIES}
          keyOf={({ at, event, attempt }) => `${at} ${event} ${attempt}`}
          empty="Nothing was delivered yet"
          emptyAdvice="Press Test to send a message now."
        />
      </Section>
    </Page>
  );
}

interface Tested {
  readonly result: string;
  readonly http_status: number | null;
  readonly duration_ms: number;
  readonly response: string | null;
}

function Change({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const act = useAct();
  const { id, state } = webhook;
  const path = `/webhooks/${id}`;
  const verb = state === 'disabled' ? 'enable' : 'disable';
  return (
    <>
      <DialogButton
        task="webhook test"
        label="Test"
        dialog={(close) => (
          <FormDialog<Tested>
            title={`Test endpoint ${id}`}
            submit="Send it"
            send={() => act(`${path}/test`)}
            result={({ result, http_status, duration_ms, response }) => (
              <Facts
                facts={{ Result: result, HTTP: http_status, Took: `${duration_ms} ms`, Answer: response }}
              />
            )}
            close={close}
          >
            <p>A signed test message is sent now.</p>
          </FormDialog>
        )}
      />
      <DialogButton
        task="webhook replay"
        label="Replay"
        dialog={(close) => (
          <FormDialog
            title={`Replay events to endpoint ${id}`}
            submit="Replay"
            fields={[{ name: 'from', label: 'From', kind: 'moment', required: true }]}
            send={(body) => act(`${path}/replay`, body)}
            result={() => <p>The events are being sent again.</p>}
            close={close}
          >
            <p>Every event since then is sent again, with the same identifiers.</p>
          </FormDialog>
        )}
      />
      <DialogButton
        task="webhook rotate"
        label="New secret"
        dialog={(close) => (
          <FormDialog<NewSecret>
            title={`New secret of endpoint ${id}`}
            submit="Make a new secret"
            send={(body) => act(`${path}/rotate`, body)}
            result={({ secret }) => (
              <Secret what="Messages are signed with both secrets for a day." value={secret} />
            )}
            close={close}
          />
        )}
      />
      <DialogButton
        task={`webhook ${verb}`}
        label={verb === 'enable' ? 'Enable' : 'Disable'}
        dialog={(close) => (
          <FormDialog
            title={`${verb === 'enable' ? 'Enable' : 'Disable'} endpoint ${id}`}
            submit={verb === 'enable' ? 'Enable' : 'Disable'}
            send={() => act(`${path}/${verb}`)}
            close={close}
          >
            <p>
              {verb === 'enable'
                ? 'What has waited is sent.'
                : 'Nothing is sent until it is enabled again; it waits.'}
            </p>
          </FormDialog>
        )}
      />
      <DialogButton
        task="webhook remove"
        label="Remove"
        danger
        dialog={(close) => (
          <FormDialog
            title={`Remove endpoint ${id}`}
            submit="Remove for good"
            danger
            send={() => act(`${path}/remove`)}
            close={close}
          >
            <p>What waits for it is not sent any more.</p>
          </FormDialog>
        )}
      />
    </>
  );
}
