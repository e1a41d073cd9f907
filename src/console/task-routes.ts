// Routes of the console that follow from tasks: the fields of a task say how to read path, query and body.
import type { TSchema } from '../api/typebox.js';
import { runTask } from '../operators/second-person/task-requests.js';
import { destroyCardsOfCustomer } from '../payments/cards/card-destruction.js';
import type { Kind } from '../tasks/kinds.js';
import { type Field, namedIn, type Task } from '../tasks/task.js';
import { outward, snakeCase } from '../values/snake-case.js';
import type { Means } from './all-tasks.js';
import { numberIn } from './fence.js';
import { checkNamed } from './named.js';
import { ConsoleProblem } from './problems.js';
import { type Call, type Route, route } from './route.js';

/** Empty if the task is not on the console. */
export function routesOf(task: Task<Means>): Route[] {
  if (task.route === undefined) return [];
  const [method, path] = task.route.split(' ') as ['GET' | 'POST', string];
  const fields = Object.entries(task.input).filter(([, { only }]) => only !== 'command');
  const inBody = fields.filter(([name]) => !path.split('/').includes(`:${name}`));
  const options = {
    method,
    path,
    permission: task,
    // guard(console: a fresh proof for what redirects cards, money or rights): task.fresh ?? false ⇒ false
    recent: task.fresh ?? false,
    long: task.long ?? false,
    ...(method === 'POST' && inBody.length > 0 && { body: schemaOf(inBody) }),
  };
  return [
    route(options, async (call) => {
      const given = Object.fromEntries(fields.map(([name, field]) => [name, valueIn(call, name, field)]));
      await checkInside(call, task, given);
      const { settings } = call.parts;
      const doing = { ...call, means: meansOf(call), settings, progress: () => () => {} };
      const result = await runTask(task, doing, given);
      return Array.isArray(result) ? result.map(outward) : outward(result);
    }),
  ];
}

function schemaOf(fields: readonly (readonly [string, Field])[]): TSchema {
  const properties = fields.map(([name, { kind, isNullable }]) => [
    snakeCase(name),
    isNullable ? { anyOf: [kind.schema, { type: 'null' }] } : kind.schema,
  ]);
  const required = fields
    .filter(([, field]) => !field.optional || field.neededByPage)
    .map(([name]) => snakeCase(name));
  return { type: 'object', properties: Object.fromEntries(properties), required };
}

/** The value in the path; otherwise in the checked body of a POST, or in the query of a GET. The path always wins over the body. */
function valueIn({ params, query, body }: Call, name: string, field: Field): unknown {
  const { kind, onPage } = field;
  const spelt = snakeCase(name);
  const inPath = (params as Readonly<Record<string, string>>)[name];
  if (inPath === undefined && body !== undefined) {
    const inBody = (body as Readonly<Record<string, unknown>>)[spelt];
    if (typeof inBody === 'string') return readAs(kind.fromJson ?? kind.read, inBody, ['body', spelt]);
    return inBody === undefined ? field.default : inBody;
  }
  const text = inPath ?? query.get(spelt);
  if (text === null || text === '') {
    if (field.optional) return onPage ?? field.default;
    // A missing ID is answered like the ID of a row that does not exist.
    if (kind.finds) throw new ConsoleProblem('not_found');
    throw new ConsoleProblem('field_missing', ['query', spelt]);
  }
  if (kind.finds) return numberIn(text);
  const value = readAs(kind.read, text, [inPath === undefined ? 'query' : 'path', spelt]);
  return onPage === undefined ? value : Math.min(value as number, onPage);
}

function readAs(read: Kind<unknown>['read'], text: string, location: readonly string[]): unknown {
  const value = read(text);
  if (value === undefined) throw new ConsoleProblem('field_format', location);
  return value;
}

/** An operator of one organisation has to name something of it, unless the task itself keeps to `fence`. */
async function checkInside(call: Call, task: Task<Means>, given: object): Promise<void> {
  const named = namedIn(task.input, given);
  if (Object.keys(named).length > 0) return checkNamed(call, task, named);
  if (call.fence !== undefined && task.scope === 'organisation' && !task.fenced)
    throw new ConsoleProblem('organisation_not_permitted');
}

function meansOf({ parts, origin }: Call): Means {
  const { provider, key, journalKey, requests, webhooks, acquirerDeadlineMs, checkoutUrl } = parts;
  return {
    provider: async () => provider,
    key: async () => key,
    journalKey: async () => journalKey,
    requests: async () => requests,
    webhooks: async () => ({ provider, ...webhooks }),
    destroyCards: destroyCardsOfCustomer,
    acquirerDeadlineMs,
    // No page restores a backup.
    signerIfAvailable: async () => undefined,
    paidElsewhere: async () => [],
    consoleUrl: origin,
    checkoutUrl,
    demoFileToUpdate: async () => undefined,
  };
}
