// What a test can change of the host while it runs, and how it is until then.
import type { Timing } from './connection.js';

export interface HostSettings extends Timing {
  signOn: 'accepted' | 'refused' | 'unanswered' | 'closed';
  echo: 'answered' | 'unanswered';
  /** Whether it remembers how long it took for each answer. */
  keepsTimes: boolean;
  /** MMDD, in field 15 of what is approved. */
  settlementDate: string | undefined;
}

export const DEFAULTS: HostSettings = {
  signOn: 'accepted',
  echo: 'answered',
  answerDelayMs: 0,
  lateMs: 12_000,
  slowMs: 2_000,
  keepsTimes: false,
  settlementDate: undefined,
};
