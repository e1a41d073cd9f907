// Commands in a line, as an operator types them, and what they print for a person, for a program, and when they refuse.
import { expect } from 'vitest';
import type { Json } from './client.js';
import type { Ended } from './gateway-process.js';

/** The words as in a shell; one with a space in it is given in single quotes. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

export interface Commands {
  /** What a command prints for a person. */
  text(line: string): Promise<string>;
  /** What a command prints for a program. */
  json(line: string): Promise<Json>;
  /** The one line on stderr with which a command is refused. */
  refusal(line: string): Promise<string>;
}

export function commands(run: (line: string) => Promise<Ended>): Commands {
  const text = async (line: string) => {
    const { code, stdout, stderr } = await run(line);
    expect([code, stderr]).toEqual([0, '']);
    return stdout.trimEnd();
  };
  return {
    text,
    json: async (line) => {
      const printed = await text(`${line} --json`);
      expect(printed.split('\n')).toHaveLength(1);
      return JSON.parse(printed);
    },
    refusal: async (line) => {
      const { code, stdout, stderr } = await run(line);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr.split('\n')).toEqual([expect.stringMatching(/^tollgate: /), '']);
      return stderr.slice('tollgate: '.length).trimEnd();
    },
  };
}
