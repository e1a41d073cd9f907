// Options that contradict each other: one that is given twice, or together with its opposite. Without this the last one would win,
// and nobody be told.
import type { Command, Option } from 'commander';

const REPEATABLE = new WeakSet<Option>();

/** Each time it is given, it adds to what was given before. */
export function repeatable(option: Option): Option {
  REPEATABLE.add(option);
  return option;
}

export function refuseContradictions(command: Command): void {
  const given = new Map<string, Option>();
  for (const option of command.options) {
    command.on(`option:${option.name()}`, () => {
      const earlier = given.get(option.attributeName());
      given.set(option.attributeName(), option);
      if (earlier === undefined) return;
      if (earlier !== option)
        command.error(`error: options '${earlier.flags}' and '${option.flags}' contradict each other`);
      else if (!REPEATABLE.has(option) && (option.required || option.optional))
        command.error(`error: option '${option.flags}' is given more than once`);
    });
  }
}
