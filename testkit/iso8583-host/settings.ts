// The host's settings that a test can change while it runs, with their defaults.
import type { Timing } from './connection.js';
import type { Stall } from './stalls.js';

export interface HostSettings extends Timing {
  signOn: 'accepted' | 'refused' | 'unanswered' | 'closed';
  echo: 'answered' | 'unanswered';
  /** A reversal of a payment that the host has not seen is answered with 25. Forgotten: should the payment come later, it is charged. */
  unseenReversals: 'remembered' | 'forgotten';
  /** Every second connection stands still like this as soon as it is signed on. */
  stallOfEverySecond: Omit<Stall, 'connections'> | undefined;
  /** Of rules that are for some requests in a hundred. */
  seed: number;
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
  stallMs: 2_000,
  unseenReversals: 'remembered',
  stallOfEverySecond: undefined,
  seed: 1,
  keepsTimes: false,
  settlementDate: undefined,
};
