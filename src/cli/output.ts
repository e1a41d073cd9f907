// What the commands print: a sentence or a table for a person, JSON for a program that asks for it with `--json`.
import { type Command, Option } from 'commander';
import { outward } from '../values/snake-case.js';
import { table } from '../values/text-table.js';
import { refuseContradictions } from './contradictions.js';

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
    const output = await work(...(given as Given));
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
  return 'rows' in output ? table(output.rows) : output.sentence;
}
