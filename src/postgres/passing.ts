// Whether a server that cannot be used may be there soon by itself, or somebody has to change something first.
import pg from 'pg';
import { SilentServer, UnfitServer } from './session.js';

/** It starts or stops, has no connection to spare or no room on its disk, or is a standby. Not 08P01, which is a pooler's "no". */
const STATES = /^(08(?!P01)|53|57|25006)/;
/** What the driver says without a code. */
const LOST = /^(timeout expired|Connection terminated|Query read timeout)/;
/** On the way to it. What is wrong with a certificate, or with the file of one, has other calls or none. */
const CALLS = ['connect', 'getaddrinfo', 'read', 'write'];

export function isPassing(error: unknown): boolean {
  if (error instanceof UnfitServer) return error.passing;
  if (error instanceof SilentServer) return true;
  if (error instanceof pg.DatabaseError) return STATES.test(error.code ?? '');
  // A name with several addresses fails with an error for each.
  if (error instanceof AggregateError) return error.errors.some(isPassing);
  const { syscall, message } = error as NodeJS.ErrnoException;
  return syscall === undefined ? LOST.test(message) : CALLS.includes(syscall);
}
