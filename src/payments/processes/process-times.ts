// The times by which processes judge each other. A process that cannot commit its heartbeat stops claiming and sending a whole
// heartbeat before any other may presume it dead and reverse what it left in doubt.

export interface ProcessTimes {
  readonly heartbeatEveryMs: number;
  /** This long after its last committed heartbeat, a process neither claims nor sends, and is not ready. */
  readonly staleAfterMs: number;
  /** This long after it, other processes presume it dead. */
  readonly presumedDeadAfterMs: number;
}

const LONGEST_HEARTBEAT_MS = 1_000;
/** A few heartbeats may be slow before a process counts as stale. */
const HEARTBEATS_OF_A_TIMEOUT = 5;
/** Search fences stop waiting for a process that has been silent for this long (`answeredByAll`). It is stale long before. */
export const FENCES_WAIT_MS = 30_000;

export function processTimes(timeoutMs: number): ProcessTimes {
  const heartbeatEveryMs = Math.min(LONGEST_HEARTBEAT_MS, Math.floor(timeoutMs / HEARTBEATS_OF_A_TIMEOUT));
  return {
    heartbeatEveryMs,
    // guard(processes: one that missed its heartbeats is stale before the others presume it dead): Math.min(timeoutMs, FENCES_WAIT_MS / 2) - heartbeatEveryMs ⇒ 15_000
    staleAfterMs: Math.min(timeoutMs, FENCES_WAIT_MS / 2) - heartbeatEveryMs,
    presumedDeadAfterMs: timeoutMs,
  };
}
