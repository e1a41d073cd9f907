// Routes of the console that follow from tasks: what their path, query and body hold is read by the fields of the task.
import { MAX_INTEGER } from '../api/limits.js';
import { type TSchema, Type } from '../api/typebox.js';
import { type Field, namedIn, type Task } from '../tasks/task.js';
import { outward } from '../values/snake-case.js';
import type { Means } from './all-tasks.js';
import { numberIn } from './fence.js';
import { ID, TEXTS } from './fields.js';
import { checkNamed } from './named.js';
import type { ConsoleParts } from './parts.js';
import { type Call, type Route, route } from './route.js';

const MOST_CHARACTERS = 256;

/** None where the task has no place on the console. */
export function routesOf(task: Task<Means>): Route[] {
  if (task.route === undefined) return [];
  const [method, path] = task.route.split(' ') as ['GET' | 'POST', string];
  const fields = Object.entries(task.input);
  const others = fields.filter(([name]) => !path.split('/').includes(`:${name}`));
  const body = Type.Object(Object.fromEntries(others.map(([name, field]) => [name, schemaOf(field)])));
  const options = {
    method,
    path,
    permission: task,
    recent: task.fresh ?? false,
    ...(method === 'POST' && others.length > 0 && { body }),
  };
  return [
    route(options, async (call) => {
      const given = Object.fromEntries(fields.map(([name, field]) => [name, valueIn(call, name, field)]));
      const named = namedIn(task.input, given);
      // Whoever names nothing is shown what lies inside the fence.
      if (Object.keys(named).length > 0) await checkNamed(call, task, named);
      const result = await task.run({ ...call, means: meansOf(call.parts) }, given);
      return Array.isArray(result) ? result.map(outward) : outward(result);
    }),
  ];
}

function schemaOf({ kind, most, optional }: Field): TSchema {
  const schema = {
    id: ID,
    count: Type.Integer({ minimum: 1, maximum: most ?? MAX_INTEGER }),
    duration: Type.Integer({ minimum: 0, maximum: most ?? MAX_INTEGER }),
    text: Type.String({ maxLength: most ?? MOST_CHARACTERS }),
    texts: TEXTS,
  }[kind];
  return optional ? Type.Optional(schema) : schema;
}

/** In the path, the query or the body; the body was checked. */
function valueIn({ params, query, body }: Call, name: string, field: Field): unknown {
  const text = (params as Readonly<Record<string, string>>)[name] ?? query.get(name);
  const inBody = (body as Readonly<Record<string, unknown>> | undefined)?.[name];
  const { kind, onPage } = field;
  if (kind === 'count' && onPage !== undefined)
    return Math.min(text === null || text === '' ? onPage : numberIn(text), onPage);
  if (inBody !== undefined) return inBody;
  if (text === null || text === '') return field.default;
  return kind === 'id' ? numberIn(text) : text;
}

function meansOf({ provider, webhooks }: ConsoleParts): Means {
  return { webhooks: async () => ({ provider, ...webhooks }) };
}
