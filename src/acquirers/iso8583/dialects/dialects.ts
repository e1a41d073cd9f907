// All dialects by name.
import { AS2805 } from './as2805.js';
import { ASCII87 } from './ascii87.js';
import type { Dialect } from './dialect.js';

const DIALECTS: readonly Dialect[] = [AS2805, ASCII87];

export const DEFAULT_DIALECT = AS2805.name;
export const DIALECT_NAMES: readonly string[] = DIALECTS.map(({ name }) => name);

export function dialectOf(name: string): Dialect | undefined {
  return DIALECTS.find((dialect) => dialect.name === name);
}
