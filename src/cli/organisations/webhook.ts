// `tollgate webhook`: who is told of events, and what became of it.
import { type Command, Option } from 'commander';
import {
  addWebhook,
  disableWebhook,
  enableWebhook,
  listDeliveries,
  listWebhooks,
  OVERLAP_MS,
  removeWebhook,
  replayWebhook,
  resendWebhook,
  rotateWebhook,
  testWebhook,
  type WebhookTest,
  type WebhookView,
} from '../../webhooks/webhook-tasks.js';
import { duration, id, wholeNumber } from '../arguments.js';
import { operate, operateWebhooks } from '../operator.js';
import { type Output, printing } from '../output.js';

function types(text: string): string[] {
  return text
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '');
}

function count(text: string): number {
  return wholeNumber(text, 1_000);
}

export function addWebhookCommands(program: Command): void {
  const webhook = program
    .command('webhook')
    .description('webhooks: events that are sent to a merchant’s server');
  addSettingUp(webhook);
  addSwitching(webhook);
  addLooking(webhook);
}

function addSettingUp(webhook: Command): void {
  printing(
    webhook
      .command('add')
      .argument('<url>', 'where to send them, such as https://example.com/webhooks')
      .description(
        'tell an endpoint of a merchant’s events from now on, and print the secret that signs, once',
      )
      .requiredOption('--merchant <id>', 'the merchant', id)
      .option('--types <list>', 'only of these types, with commas between', types),
    async (url: string, { merchant, types: wanted }) => {
      const added = await operateWebhooks((database, operator, means) =>
        addWebhook(database, operator, means, { url, merchant, types: wanted }),
      );
      const sentence = `Webhook endpoint ${added.id} added. The secret is shown only now: ${added.secret}`;
      return { value: added, sentence };
    },
  );
  printing(
    webhook
      .command('rotate')
      .argument('<id>', 'the endpoint', id)
      .description(
        'give an endpoint a new secret and print it, once; the old one goes on signing for a while',
      )
      .addOption(
        new Option('--overlap <duration>', 'for how long, such as 12h')
          .argParser(duration)
          .default(OVERLAP_MS, `${OVERLAP_MS / 3_600_000}h`),
      ),
    async (endpoint: number, { overlap }) => {
      const rotated = await operateWebhooks((database, operator, means) =>
        rotateWebhook(database, operator, means, endpoint, overlap),
      );
      return {
        value: rotated,
        sentence: `The secret of endpoint ${rotated.id} is shown only now: ${rotated.secret}`,
      };
    },
  );
  printing(
    webhook
      .command('remove')
      .argument('<id>', 'the endpoint', id)
      .description('remove an endpoint, with everything that waits for it'),
    async (endpoint: number) => {
      const removed = await operate((database, operator) => removeWebhook(database, operator, endpoint));
      return { value: removed, sentence: `Webhook endpoint ${removed.id} is removed.` };
    },
  );
}

function addSwitching(webhook: Command): void {
  printing(
    webhook
      .command('disable')
      .argument('<id>', 'the endpoint', id)
      .description('send nothing more to an endpoint; once it is enabled again it goes on where it was'),
    async (endpoint: number) =>
      shown(await operate((database, operator) => disableWebhook(database, operator, endpoint))),
  );
  printing(
    webhook
      .command('enable')
      .argument('<id>', 'the endpoint', id)
      .description('let an endpoint go on, and try at once what waits for it'),
    async (endpoint: number) =>
      shown(await operate((database, operator) => enableWebhook(database, operator, endpoint))),
  );
  printing(
    webhook
      .command('replay')
      .argument('<id>', 'the endpoint', id)
      .description('send an event again, and everything after it')
      .requiredOption('--from <event>', 'the event’s id, such as evt_1_transaction_17_1'),
    async (endpoint: number, { from }) => {
      const replayed = await operate((database, operator) =>
        replayWebhook(database, operator, endpoint, from),
      );
      const sentence = `Webhook endpoint ${replayed.id} gets ${from} again, and everything after it.`;
      return { value: replayed, sentence };
    },
  );
  printing(
    webhook
      .command('resend')
      .argument('<id>', 'the endpoint', id)
      .argument('<event>', 'the event’s id, such as evt_1_transaction_17_1')
      .description('send one event again, and nothing else'),
    async (endpoint: number, event: string) => {
      const resent = await operate((database, operator) =>
        resendWebhook(database, operator, endpoint, event),
      );
      return { value: resent, sentence: `Webhook endpoint ${resent.id} gets ${event} again.` };
    },
  );
}

function addLooking(webhook: Command): void {
  printing(
    webhook
      .command('list')
      .description('list the endpoints, with what waits for each')
      .option('--merchant <id>', 'only of this merchant', id),
    async ({ merchant }) => ({ rows: await operate((database) => listWebhooks(database, merchant)) }),
  );
  printing(
    webhook
      .command('test')
      .argument('<id>', 'the endpoint', id)
      .description(
        'send an endpoint a message that tells of nothing, and show what comes back; ends with 1 where it was not delivered',
      ),
    async (endpoint: number) => {
      const tested = await operateWebhooks((database, operator, means) =>
        testWebhook(database, operator, means, endpoint),
      );
      if (tested.result !== 'delivered') process.exitCode = 1;
      return { value: tested, sentence: sentenceOn(tested) };
    },
  );
  printing(
    webhook
      .command('deliveries')
      .argument('<id>', 'the endpoint', id)
      .description('show the attempts to deliver to an endpoint, the newest first')
      .option('--limit <count>', 'how many at most', count, 50),
    async (endpoint: number, { limit }) => ({
      rows: await operate((database) => listDeliveries(database, endpoint, limit)),
    }),
  );
}

function shown(endpoint: WebhookView): Output {
  return { value: endpoint, sentence: `Webhook endpoint ${endpoint.id} is ${endpoint.state}.` };
}

function sentenceOn({ id: endpoint, result, httpStatus, durationMs }: WebhookTest): string {
  const answer = httpStatus === null ? '' : `, HTTP ${httpStatus}`;
  return `Webhook endpoint ${endpoint}: ${result}${answer}, after ${durationMs} ms.`;
}
