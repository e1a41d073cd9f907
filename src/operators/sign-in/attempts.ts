// Attempts to sign in by a password: each is counted before the password is checked, so that many at the same time are no way around.
// A device on which an operator has signed in before is counted separately: guessing a colleague's password does not lock them out.
import { randomUUID } from 'node:crypto';
import type { CredentialKey } from '../../organisations/users/credentials.js';
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

/** Of one name within half an hour: then it is locked for half an hour. */
export const MOST_OF_NAME = 10;
/** From one network within half an hour, whatever the names. */
const MOST_OF_NETWORK = 20;
/** More are not counted, so that nobody fills the table: then only known devices take a password. */
const MOST_COUNTED = 10_000;

export interface Attempt {
  /** Of the name that was typed, whether or not anybody has it. The name itself may be a password, and is stored nowhere. */
  readonly nameTag: Buffer;
  /** Where it is made: a device that is known, or the network of an address. */
  readonly from: string;
  /** Whether the name is locked if it fails. */
  readonly isLast: boolean;
}

/** Refuses what is one too many, in the same way for every name. Until it is `attemptSucceeded` it counts as one that failed. */
export async function beginAttempt(
  database: Queryable,
  key: CredentialKey,
  name: string,
  address: string,
  device: Buffer | undefined,
): Promise<Attempt> {
  const nameTag = key.tagOfToken('name', name);
  const from = await whereFrom(database, name, address, device);
  const isKnown = from.startsWith('device:');
  const isLast = await database.transaction(async (connection) => {
    await connection.query(LOCK_ATTEMPTS, [nameTag, from]);
    await connection.query(FORGET_ATTEMPTS);
    const { rows } = await connection.query<Record<'ofName' | 'ofNetwork' | 'ofAll', number>>(
      COUNT_ATTEMPTS,
      [nameTag, from, isKnown],
    );
    const { ofName = 0, ofNetwork = 0, ofAll = 0 } = rows[0] ?? {};
    // guard(sign-in: ten wrong passwords lock a name): ofName >= MOST_OF_NAME || ⇒
    if (ofName >= MOST_OF_NAME || (!isKnown && (ofNetwork >= MOST_OF_NETWORK || ofAll >= MOST_COUNTED)))
      refuse('too_many_attempts');
    await connection.query(BEGIN_ATTEMPT, [randomUUID(), nameTag, from]);
    return ofName === MOST_OF_NAME - 1;
  });
  return { nameTag, from, isLast };
}

export async function attemptSucceeded(connection: Queryable, { nameTag, from }: Attempt): Promise<void> {
  await connection.query(CLEAR_ATTEMPTS, [nameTag, from]);
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
  name: string,
  address: string,
  device: Buffer | undefined,
): Promise<string> {
  if (device !== undefined && (await knowsDevice(database, name, device))) return deviceName(device);
  return networkOf(address);
}

function deviceName(device: Buffer): string {
  return `device:${device.toString('hex')}`;
}
