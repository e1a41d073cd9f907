// Routes that change links to acquirers, and webhooks.
import { addAcquirer, removeAcquirer, setAcquirer, testAcquirer } from '../../acquirers/acquirer-tasks.js';
import { Type } from '../../api/typebox.js';
import type { Task } from '../../operators/operator-roles.js';
import type { Database } from '../../postgres/database.js';
import { outward } from '../../values/snake-case.js';
import {
  addWebhook,
  disableWebhook,
  enableWebhook,
  removeWebhook,
  replayWebhook,
  resendWebhook,
  rotateWebhook,
  testWebhook,
  type WebhookView,
} from '../../webhooks/webhook-tasks.js';
import { numberIn } from '../fence.js';
import { ID, LONG_TEXT, TEXT, TEXTS } from '../fields.js';
import { checkNamed } from '../named.js';
import { type Call, type Route, route } from '../route.js';

const SETTINGS = {
  tls: Type.Optional(Type.Boolean()),
  trusted: Type.Optional(Type.Union([LONG_TEXT, Type.Null()])),
  dialect: Type.Optional(TEXT),
  connections: Type.Optional(Type.Number()),
  institution: Type.Optional(Type.Union([TEXT, Type.Null()])),
  deadline_ms: Type.Optional(Type.Number()),
  mac_keys: Type.Optional(Type.Union([TEXT, Type.Null()])),
};

function inward<Given extends { readonly deadline_ms?: number; readonly mac_keys?: string | null }>(
  given: Given,
) {
  const { deadline_ms: deadlineMs, mac_keys: macKeys, ...rest } = given;
  return { ...rest, deadlineMs, ...(macKeys !== undefined && { macKeys }) };
}

const ACQUIRERS: readonly Route[] = [
  route(
    {
      method: 'POST',
      path: '/acquirers',
      task: 'acquirer add',
      recent: true,
      body: Type.Object({ name: TEXT, address: TEXT, test: Type.Optional(Type.Boolean()), ...SETTINGS }),
    },
    async ({ database, actor, parts, body }) =>
      outward(await addAcquirer(database, actor, parts.provider, inward(body))),
  ),
  route(
    {
      method: 'POST',
      path: '/acquirers/:name',
      task: 'acquirer set',
      recent: true,
      body: Type.Object({ address: Type.Optional(TEXT), ...SETTINGS }),
    },
    async ({ database, actor, parts, params, body }) =>
      outward(await setAcquirer(database, actor, parts.provider, params.name, inward(body))),
  ),
  route(
    { method: 'POST', path: '/acquirers/:name/remove', task: 'acquirer remove', recent: true },
    async ({ database, actor, params }) => outward(await removeAcquirer(database, actor, params.name)),
  ),
  route(
    { method: 'POST', path: '/acquirers/:name/test', task: 'acquirer test' },
    async ({ database, actor, parts, params }) =>
      outward(await testAcquirer(database, actor, parts.provider, params.name)),
  ),
];

type Switching = (database: Database, operator: string, id: number) => Promise<WebhookView>;

function switching(name: string, task: Task, work: Switching): Route {
  return route({ method: 'POST', path: `/webhooks/:id/${name}`, task }, async (call) => {
    const id = await endpointIn(call, task);
    return outward(await work(call.database, call.actor, id));
  });
}

/** Its number, if it is the operator's to change. */
async function endpointIn(call: Call, task: Task): Promise<number> {
  const id = numberIn((call.params as { readonly id: string }).id);
  await checkNamed(call, task, { endpoints: [id] });
  return id;
}

const WEBHOOKS: readonly Route[] = [
  route(
    {
      method: 'POST',
      path: '/webhooks',
      task: 'webhook add',
      recent: true,
      body: Type.Object({
        url: Type.String({ maxLength: 4_096 }),
        merchant: ID,
        types: Type.Optional(TEXTS),
      }),
    },
    async ({ database, actor, parts, body }) => {
      const means = { provider: parts.provider, ...parts.webhooks };
      return outward(await addWebhook(database, actor, means, body));
    },
  ),
  route(
    {
      method: 'POST',
      path: '/webhooks/:id/rotate',
      task: 'webhook rotate',
      recent: true,
      body: Type.Object({
        overlap_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 30 * 86_400_000 })),
      }),
    },
    async (call) => {
      const { database, actor, parts, body } = call;
      const id = await endpointIn(call, 'webhook rotate');
      const means = { provider: parts.provider, ...parts.webhooks };
      return outward(await rotateWebhook(database, actor, means, id, body.overlap_ms));
    },
  ),
  switching('disable', 'webhook disable', disableWebhook),
  switching('enable', 'webhook enable', enableWebhook),
  switching('remove', 'webhook remove', removeWebhook),
  route({ method: 'POST', path: '/webhooks/:id/test', task: 'webhook test' }, async (call) => {
    const { database, actor, parts } = call;
    const id = await endpointIn(call, 'webhook test');
    const means = { provider: parts.provider, ...parts.webhooks };
    return outward(await testWebhook(database, actor, means, id));
  }),
  route(
    {
      method: 'POST',
      path: '/webhooks/:id/replay',
      task: 'webhook replay',
      body: Type.Object({ from: TEXT }),
    },
    async (call) => {
      const id = await endpointIn(call, 'webhook replay');
      return outward(await replayWebhook(call.database, call.actor, id, call.body.from));
    },
  ),
  route(
    {
      method: 'POST',
      path: '/webhooks/:id/resend',
      task: 'webhook resend',
      body: Type.Object({ event: TEXT }),
    },
    async (call) => {
      const id = await endpointIn(call, 'webhook resend');
      return outward(await resendWebhook(call.database, call.actor, id, call.body.event));
    },
  ),
];

export const ACQUIRER_ROUTES: readonly Route[] = [...ACQUIRERS, ...WEBHOOKS];
