// Tests a host for the operator: opens a separate connection, and measures each step.
import { Codec } from './wire/codec.js';
import { Connection } from './wire/connection.js';
import type { LineParts } from './wire/line.js';

export interface Trial {
  /** The time to connect and sign on. */
  readonly signOnMs: number;
  readonly echoMs: number;
}

/** Throws with the reason if a step fails. */
export async function tryHost(parts: LineParts): Promise<Trial> {
  const { dialect, host, timings, institution, macs } = parts;
  const codec = new Codec(dialect);
  const connection = new Connection({
    dialect,
    codec,
    host,
    timings,
    institution,
    macs,
    onAnswer: () => false,
    onWithheld: () => {},
  });
  const beganMs = performance.now();
  try {
    await connection.open();
    const signedOnMs = performance.now();
    await connection.echo();
    const echoedMs = performance.now();
    return { signOnMs: tenths(signedOnMs - beganMs), echoMs: tenths(echoedMs - signedOnMs) };
  } finally {
    await connection.leave();
  }
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
