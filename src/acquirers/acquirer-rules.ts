// What may be set of a link to an acquirer: its name, its address, its dialect, how many connections it has, and its keys.
import { type FieldProblem, refuse } from '../values/refusal.js';
import type { AcquirerRow } from './configured.js';
import { DIALECT_NAMES } from './iso8583/dialects/dialects.js';
import { readMacKeys } from './iso8583/mac-keys.js';

/** What can be changed afterwards. `null` takes away. */
export interface AcquirerChange {
  readonly address?: string | undefined;
  readonly tls?: boolean | undefined;
  /** Certificates in PEM. */
  readonly trusted?: string | null | undefined;
  readonly dialect?: string | undefined;
  readonly connections?: number | undefined;
  readonly institution?: string | null | undefined;
  readonly deadlineMs?: number | undefined;
  /** In hexadecimal, as they stand in a file: one for both ways, or that for sending and that for receiving. */
  readonly macKeys?: string | null | undefined;
}

export interface NewAcquirer extends AcquirerChange {
  readonly name: string;
  readonly address: string;
  /** A link is test or live from the beginning, and for good. */
  readonly test?: boolean | undefined;
}

const NAME = /^[a-z][a-z0-9_-]{0,31}$/;
const RESERVED = ['simulator', 'simulated-bank', 'directdebit', 'none'];
const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]{1,253})):([0-9]{1,5})$/;
const INSTITUTION = /^[0-9]{1,11}$/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----/;
// Without what was given: it may be a key.
const MAC_KEYS =
  'MAC keys are 32 hexadecimal digits: one key for both ways, or one for sending and, on the next line, one for receiving';
export const DEFAULTS = { connections: 1, deadlineMs: 10_000 };
export const LIMITS = { connections: [1, 32], deadlineMs: [100, 120_000] } as const;

/** Every problem at once. */
export function checkAcquirer(wish: AcquirerChange & { readonly name?: string }): void {
  const problems: FieldProblem[] = [];
  const { name, address, dialect, institution, macKeys, trusted } = wish;
  const wrong = (field: keyof typeof wish, rule: string) => problems.push({ field, rule });
  if (name !== undefined && (!NAME.test(name) || RESERVED.includes(name)))
    wrong('name', `takes 1 to 32 small letters, digits, _ and -, and is none of ${RESERVED.join(', ')}`);
  if (address !== undefined && !isAddress(address))
    wrong('address', 'takes a host and a port, such as host.example:5001');
  if (dialect !== undefined && !DIALECT_NAMES.includes(dialect))
    wrong('dialect', `takes one of ${DIALECT_NAMES.join(', ')}`);
  for (const field of ['connections', 'deadlineMs'] as const) {
    const [least, most] = LIMITS[field];
    const number = wish[field];
    if (number !== undefined && !(Number.isInteger(number) && number >= least && number <= most))
      wrong(field, `takes a whole number from ${least} to ${most}`);
  }
  if (isGiven(institution) && !INSTITUTION.test(institution)) wrong('institution', 'takes 1 to 11 digits');
  if (isGiven(macKeys) && readMacKeys(macKeys) === undefined) wrong('macKeys', MAC_KEYS);
  if (isGiven(trusted) && !CERTIFICATE.test(trusted)) wrong('trusted', 'takes certificates in PEM');
  if (problems.length > 0) refuse('acquirer_not_allowed', { problems });
}

function isGiven(text: string | null | undefined): text is string {
  return text !== undefined && text !== null;
}

/** Of a text that was checked. */
export function checkedMacKeys(text: string): Buffer {
  const keys = readMacKeys(text);
  if (keys === undefined) throw new Error('MAC keys that were not checked');
  return keys;
}

function isAddress(text: string): boolean {
  const port = Number(ADDRESS.exec(text)?.[3] ?? 0);
  return port >= 1 && port <= 65_535;
}

export function hostOf(address: string): Pick<AcquirerRow, 'host' | 'port'> {
  const [, bracketed, plain = '', port] = ADDRESS.exec(address) ?? [];
  return { host: bracketed ?? plain, port: Number(port) };
}
