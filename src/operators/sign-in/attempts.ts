// Attempts to sign in by a password: counted before it is looked at, so that many at the same time are no way around. Whoever has signed
// in on a device before is counted apart there: nobody who guesses under a colleague's name keeps the colleague out.
import { randomUUID } from 'node:crypto';
import type { Queryable } from '../../postgres/database.js';
import { networkOf } from '../../values/network.js';
import { refuse } from '../../values/refusal.js';
import {
  BEGIN_ATTEMPT,
  CLEAR_ATTEMPTS,
  COUNT_ATTEMPTS,
  FORGET_ATTEMPTS,
  FORGET_DEVICES,
  KNOWS_DEVICE,
  LOCK_ATTEMPTS,
  REMEMBER_DEVICE,
} from './attempts.sql.js';

/** Within fifteen minutes. */
const MOST_OF_BOTH = 5;
const MOST_OF_NETWORK = 20;
/** Within an hour. */
const MOST_OF_OPERATOR = 30;

export interface Attempt {
  /** Empty for a name that nobody has. */
  readonly operator: string;
  /** Where it is made: a device that is known, or the network of an address. */
  readonly from: string;
}

/** Refuses what is one too many. Until it is `attemptSucceeded` it counts as one that failed. */
export async function beginAttempt(
  database: Queryable,
  operator: string,
  address: string,
  device: Buffer | undefined,
): Promise<Attempt> {
  const from = await whereFrom(database, operator, address, device);
  const isKnown = from.startsWith('device:');
  await database.transaction(async (connection) => {
    await connection.query(LOCK_ATTEMPTS, [operator, from]);
    const { rows } = await connection.query<Record<'ofBoth' | 'ofNetwork' | 'ofOperator', number>>(
      COUNT_ATTEMPTS,
      [operator, from],
    );
    const { ofBoth = 0, ofNetwork = 0, ofOperator = 0 } = rows[0] ?? {};
    const tooMany = isKnown
      ? ofBoth >= MOST_OF_BOTH
      : ofNetwork >= MOST_OF_NETWORK ||
        (operator !== '' && (ofBoth >= MOST_OF_BOTH || ofOperator >= MOST_OF_OPERATOR));
    if (tooMany) refuse('too_many_attempts');
    await connection.query(FORGET_ATTEMPTS);
    await connection.query(BEGIN_ATTEMPT, [randomUUID(), operator, from]);
  });
  return { operator, from };
}

export async function attemptSucceeded(connection: Queryable, { operator, from }: Attempt): Promise<void> {
  await connection.query(CLEAR_ATTEMPTS, [operator, from]);
}

/** The device on which an operator has just signed in, by what its browser keeps. */
export async function rememberDevice(connection: Queryable, operator: string, device: Buffer): Promise<void> {
  await connection.query(REMEMBER_DEVICE, [operator, deviceName(device)]);
  await connection.query(FORGET_DEVICES, [operator]);
}

/** Whether the operator has signed in there. */
export async function knowsDevice(
  database: Queryable,
  operator: string,
  device: Buffer | undefined,
): Promise<boolean> {
  return (
    device !== undefined && (await database.query(KNOWS_DEVICE, [operator, deviceName(device)])).count > 0
  );
}

async function whereFrom(
  database: Queryable,
  operator: string,
  address: string,
  device: Buffer | undefined,
): Promise<string> {
  if (device !== undefined && operator !== '' && (await knowsDevice(database, operator, device)))
    return deviceName(device);
  return networkOf(address);
}

function deviceName(device: Buffer): string {
  return `device:${device.toString('hex')}`;
}
