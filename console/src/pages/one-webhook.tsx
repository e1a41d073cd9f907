// One endpoint of a merchant: its settings, what was delivered to it, and to test, replay, rotate, switch off and remove it.
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton, Secret } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark } from '../marks.js';
import { Page, Section } from '../shell/page.js';
import { count, moment } from '../words.js';
import { Facts } from './facts.js';

type Webhook = Answer<'GET /webhooks'>[number];
type Delivery = Answer<'GET /webhooks/:id/deliveries'>[number];

export interface NewSecret {
  readonly id: number;
  readonly secret: string;
}

/** Deliveries happen later than their events, and again without a new one, so the live stream does not announce them. */
export const AGAIN_MS = 5_000;

const deliveries = (id: string): readonly Column<Delivery>[] => [
  { key: 'at', title: 'When', show: ({ at }) => moment(at) },
  { key: 'type', title: 'Type', show: ({ type }) => type },
  { key: 'result', title: 'Result', show: ({ result }) => <Mark word={result} /> },
  { key: 'status', title: 'HTTP', show: ({ http_status }) => http_status ?? '–' },
  {
    key: 'attempt',
    title: 'Attempt',
    number: true,
    show: ({ attempt }) => (attempt === 0 ? 'probe' : count(attempt)),
  },
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
  {
    key: 'replay',
    title: 'Again',
    // A test message is not an event and cannot be replayed.
    show: ({ event, type }) =>
      type !== 'webhook.test' && (
        <>
          <DialogButton
            task="webhook resend"
            label="Send again"
            small
            dialog={(close) => <Resend id={id} event={event} close={close} />}
          />
          <DialogButton
            task="webhook replay"
            label="Replay from here"
            small
            dialog={(close) => <Replay id={id} from={event} close={close} />}
          />
        </>
      ),
    wide: true,
  },
];

function Resend({
  id,
  event,
  close,
}: {
  readonly id: string;
  readonly event: string;
  close(): void;
}): ReactNode {
  const act = useAct();
  return (
    <FormDialog
      title={`Send an event again to endpoint ${id}`}
      submit="Send it"
      send={() => act(`/webhooks/${id}/resend`, { event })}
      close={close}
    >
      <p>{event} is sent again, with the same identifier, and nothing else.</p>
    </FormDialog>
  );
}

function Replay({
  id,
  from,
  close,
}: {
  readonly id: string | number;
  /** An event. */
  readonly from?: string;
  close(): void;
}): ReactNode {
  const act = useAct();
  return (
    <FormDialog
      title={`Replay events to endpoint ${id}`}
      submit="Replay"
      fields={[
        {
          name: 'from',
          label: 'First event',
          required: true,
          initial: from,
          placeholder: 'evt_…',
          description: 'As the feed of events and the deliveries call it',
        },
      ]}
      send={(body) => act(`/webhooks/${id}/replay`, body)}
      close={close}
    >
      <p>This event and every one after it are sent again, with the same identifiers.</p>
    </FormDialog>
  );
}

export function OneWebhook({ id }: { readonly id: string }): ReactNode {
  const all = useRead('GET /webhooks', {}, { everyMs: AGAIN_MS });
  const attempts = useRead(
    'GET /webhooks/:id/deliveries',
    { params: { id }, query: { limit: 200 } },
    { everyMs: AGAIN_MS },
  );
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
              'Last delivery': moment(webhook.delivered_at),
            }}
          />
        </Section>
      )}
      <Section title="Deliveries">
        <List
          caption="Deliveries"
          query={attempts}
          columns={deliveries(id)}
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
  const [, navigate] = useLocation();
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
        dialog={(close) => <Replay id={id} close={close} />}
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
            send={async () => {
              await act(`${path}/remove`);
              navigate('/webhooks');
            }}
            close={close}
          >
            <p>Events that wait for this endpoint are discarded.</p>
          </FormDialog>
        )}
      />
    </>
  );
}
