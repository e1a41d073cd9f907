// What the commands print: a sentence or a table for a person, JSON for a program that asks for it with `--json`.
import { type Command, Option } from 'commander';
import { outward as named } from '../values/snake-case.js';
import { refuseContradictions } from './contradictions.js';
import { asCommand } from './running-command.js';

/** What a command has to show for itself. */
export type Output =
  | {
      readonly value: object;
      readonly sentence: string;
      /** Standard output has something else on it. */
      readonly toStderr?: boolean;
    }
  | { readonly rows: readonly object[] };

export function jsonOption(): Option {
  return new Option('--json', 'print JSON, errors too');
}

/** Lets the command print what its work returns, in either form. Errors are printed in `main.ts`. */
export function printing<Given extends unknown[]>(
  command: Command,
  work: (...given: Given) => Promise<Output>,
): void {
  refuseContradictions(command);
  command.addOption(jsonOption()).action(async (...given: unknown[]) => {
    const output = await asCommand(command, () => work(...(given as Given)));
    const stream = 'value' in output && output.toStderr ? process.stderr : process.stdout;
    stream.write(`${command.opts().json ? forProgram(output) : forPerson(output)}\n`);
  });
}

export function wantsJson(words: readonly string[]): boolean {
  return words.includes('--json');
}

function forProgram(output: Output): string {
  return JSON.stringify('rows' in output ? output.rows.map(outward) : outward(output.value));
}

function forPerson(output: Output): string {
  return 'rows' in output ? table(output.rows.map(outward)) : output.sentence;
}

/** Members are named as in the API: `preauthorisation_days`. */
export function outward(value: object): Record<string, unknown> {
  return named(value) as Record<string, unknown>;
}

/** A line for each row, under the names of the members of all of them. */
export function table(rows: readonly Record<string, unknown>[]): string {
  if (rows.length === 0) return 'None.';
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A line for each member that has something to say. */
export function lines(value: object): string {
  const members = Object.entries(outward(value)).filter(([, member]) => cell(member) !== '');
  const width = Math.max(...members.map(([name]) => name.length));
  return members.map(([name, member]) => `${name.padEnd(width)}  ${cell(member)}`).join('\n');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}
