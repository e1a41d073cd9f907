// The command that runs: which task of the operators' table it is, and what it names.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Command } from 'commander';
import { isOtherTask, permissionFor } from '../operators/operator-roles.js';
import type { NamedThings, Permission } from '../tasks/task.js';

/** What is asked for, and what it names. */
export interface Asked {
  readonly permission: Permission;
  readonly named: NamedThings;
}

const RUNNING = new AsyncLocalStorage<Command>();

/** Does the work of a command, which can be asked for from within. */
export function asCommand<Result>(command: Command, work: () => Promise<Result>): Promise<Result> {
  return RUNNING.run(command, work);
}

export function runningTask(): Asked {
  const command = RUNNING.getStore();
  if (command === undefined) throw new Error('no command is running');
  const task = wordsOf(command);
  if (!isOtherTask(task)) throw new Error(`nobody has said which operators may use “${task}”`);
  return { permission: permissionFor(task), named: namedIn(command) };
}

/** Without the name of the program: `merchant suspend`. */
export function wordsOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${wordsOf(parent)} ${command.name()}` : command.name();
}

type Kind = keyof NamedThings;

const OPTIONS: Readonly<Record<string, Kind>> = {
  organisation: 'organisations',
  merchant: 'merchants',
  merchantId: 'merchants',
};

function namedIn(command: Command): NamedThings {
  const named: { [Each in Kind]?: unknown[] } = {};
  for (const [option, given] of Object.entries(command.opts())) {
    const kind = OPTIONS[option];
    if (kind !== undefined && given !== undefined) named[kind] = [...(named[kind] ?? []), ...[given].flat()];
  }
  return named as NamedThings;
}
