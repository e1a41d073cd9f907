// Commands that follow from tasks: their arguments, options and help, and what they print.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Means } from '../console/all-tasks.js';
import type { Field, Kind, Task, TaskGroup } from '../tasks/task.js';
import { duration, id, wholeNumber } from './arguments.js';
import { operateTask } from './operator.js';
import { printing } from './output.js';

export function addTasks(program: Command, { name, help, tasks }: TaskGroup<Means>): void {
  const group = program.command(name).description(help);
  for (const task of tasks) addTask(group, task);
}

function addTask(group: Command, task: Task<Means>): void {
  const fields = Object.entries(task.input);
  const command = group.command(task.name.slice(group.name().length + 1)).description(task.help);
  for (const [, field] of fields)
    if (isArgument(field)) command.argument(field.flag, field.help, readerOf(field));
    else command.addOption(optionOf(field));
  printing(command, async () => {
    const given = Object.fromEntries(fields.map(([name, field]) => [name, valueIn(command, field)]));
    const result = await operateTask(task, given);
    if (task.fails?.(result)) process.exitCode = 1;
    if (task.says === undefined) return { rows: result as readonly object[] };
    return { value: result, sentence: task.says(result, given) };
  });
}

function isArgument({ flag }: Field): boolean {
  return !flag.startsWith('-');
}

function optionOf(field: Field): Option {
  const option = new Option(field.flag, field.help).argParser(readerOf(field));
  if (field.default !== undefined) option.default(field.default, field.defaultText);
  return option.makeOptionMandatory(!field.optional);
}

function valueIn(command: Command, field: Field): unknown {
  if (!isArgument(field)) return command.opts()[optionOf(field).attributeName()];
  const place = command.registeredArguments.findIndex((argument) => field.flag.includes(argument.name()));
  return command.processedArgs[place];
}

const READERS: Readonly<Record<Kind, (text: string, most: number) => unknown>> = {
  id,
  count: wholeNumber,
  duration: (text, most) => {
    const ms = duration(text);
    if (ms > most) throw new InvalidArgumentError(`It must be ${most / 86_400_000}d at most.`);
    return ms;
  },
  text: (text) => text,
  texts: (text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
};

function readerOf({ kind, most = Number.POSITIVE_INFINITY }: Field): (text: string) => unknown {
  return (text) => READERS[kind](text, most);
}
