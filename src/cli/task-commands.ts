// Commands that follow from tasks: their arguments, options and help, and what they print.
import { readFile } from 'node:fs/promises';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { Means } from '../console/all-tasks.js';
import type { Field, Task, TaskGroup } from '../tasks/task.js';
import { unreadable } from '../values/whole-file.js';
import { repeatable } from './contradictions.js';
import { printing } from './output.js';
import { runAsOperator } from './run-as-operator.js';

export function addTasks(program: Command, { name, help = '', tasks }: TaskGroup<Means>): void {
  const [only] = tasks;
  if (only?.name === name) {
    describe(program.command(name), only);
    return;
  }
  const group = program.command(name).description(help);
  for (const task of tasks)
    describe(group.command(task.name.slice(name.length + 1), { isDefault: task.isDefault ?? false }), task);
}

function describe(command: Command, task: Task<Means>): void {
  const fields = Object.entries(task.input).filter(([, { only }]) => only !== 'console');
  command.description(task.help);
  for (const [, field] of fields)
    if (isArgument(field)) command.addArgument(argumentOf(field));
    else for (const option of optionsOf(field)) command.addOption(option);
  printing(command, async () => {
    const given = Object.fromEntries(
      await Promise.all(fields.map(async ([name, field]) => [name, await valueIn(command, field)] as const)),
    );
    const misfit = task.misfit?.(given);
    if (misfit !== undefined) throw new InvalidArgumentError(misfit);
    const result = await runAsOperator(task, given);
    if (task.fails?.(result)) process.exitCode = 1;
    const sentence = task.says?.(result, given);
    if (sentence === undefined) return { rows: result as readonly object[] };
    return { value: result, sentence, toStderr: task.toStderr?.(given) ?? false };
  });
}

function isArgument({ flag }: Field): boolean {
  return !flag.startsWith('-');
}

function argumentOf(field: Field): Argument {
  const { kind } = field;
  const argument = new Argument(field.flag, field.help).default(field.default);
  return kind.choices === undefined ? argument.argParser(readerOf(field)) : argument.choices(kind.choices);
}

/** The option, and the one that unsets it, if there is one. */
function optionsOf(field: Field): Option[] {
  const { kind, without } = field;
  const option = new Option(field.flag, field.help);
  if (kind.repeats) repeatable(option);
  if (kind.choices !== undefined) option.choices(kind.choices);
  else if (!kind.isFlag) option.argParser(readerOf(field));
  if (field.excludes !== undefined) option.conflicts(new Option(field.excludes).attributeName());
  if (field.default !== undefined) option.default(field.default, field.defaultText);
  option.makeOptionMandatory(!field.optional);
  return without === undefined ? [option] : [option, new Option(...without)];
}

async function valueIn(command: Command, field: Field): Promise<unknown> {
  const value = isArgument(field) ? argumentIn(command, field) : optionIn(command, field);
  if (!field.kind.inFile || typeof value !== 'string') return value;
  return readFile(value, 'utf8').catch(unreadable(value));
}

function argumentIn(command: Command, { flag }: Field): unknown {
  const name = new Argument(flag).name();
  return command.processedArgs[command.registeredArguments.findIndex((argument) => argument.name() === name)];
}

function optionIn(command: Command, field: Field): unknown {
  const [option, without] = optionsOf(field) as [Option, Option?];
  const value = givenFor(command, option.attributeName());
  if (value === true && field.preset !== undefined) return field.kind.read(field.preset);
  // Commander gives `--no-…` as false.
  const isTaken = without !== undefined && givenFor(command, without.attributeName()) === !without.negate;
  return field.isNullable && isTaken ? null : value;
}

/** Commander says true where an option has a `--no-…` and neither was given. */
function givenFor(command: Command, name: string): unknown {
  return command.getOptionValueSource(name) === undefined ? undefined : command.opts()[name];
}

function readerOf({ kind }: Field): (text: string, earlier?: unknown) => unknown {
  return (text, earlier) => {
    const before = kind.repeats && Array.isArray(earlier) ? earlier : undefined;
    const value = kind.read(text, before);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(typeof kind.mustBe === 'string' ? kind.mustBe : kind.mustBe(text, before));
  };
}
