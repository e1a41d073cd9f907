// Everything that operators can do: a subject has its tasks where it is, and a line here.
import { OTHER_PERMISSIONS, type OtherTask } from '../operators/operator-roles.js';
import type { Fields, Given, Permission } from '../tasks/task.js';
import type { Outward } from '../values/snake-case.js';
import { WEBHOOKS, type WebhookMeans } from '../webhooks/webhook-tasks.js';

/** What tasks are done with, beside the database. */
export interface Means {
  webhooks(): Promise<WebhookMeans>;
}

export const TASK_GROUPS = [WEBHOOKS] as const;

export const TASKS = TASK_GROUPS.flatMap(({ tasks }) => tasks);

export const PERMISSIONS: readonly Permission[] = [...OTHER_PERMISSIONS, ...TASKS];

type AnyTask = (typeof TASKS)[number];

/** The words of commands. */
export type TaskName = OtherTask | AnyTask['name'];

type InPath<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | InPath<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type AnswerOf<One> = One extends { readonly run: (...given: never) => Promise<infer Result> }
  ? Outward<Result>
  : never;

type InputOf<One> = One extends { readonly input: infer Input extends Fields } ? Given<Input> : never;

/** What the page sends and is answered, for each route of a task. */
export type TaskRoutes = {
  [One in AnyTask as NonNullable<One['route']>]: {
    query: Omit<InputOf<One>, InPath<One['route']>>;
    answer: AnswerOf<One>;
  };
};
