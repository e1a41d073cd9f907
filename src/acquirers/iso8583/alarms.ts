// What an operator should know at once of what a host answers: it takes a person to find out why.
import type { Order } from '../contract.js';
import type { Numbers } from './numbers.js';
import type { Response } from './wire/outstanding.js';

export type Alarm =
  /** So many since the last time. */
  | { readonly kind: 'unexplained approvals'; readonly count: number }
  | { readonly kind: 'duplicate STAN'; readonly stan: number; readonly terminal: string }
  /** Both are repeated until the host decides. */
  | {
      readonly kind: 'reversal refused' | 'completion unclear';
      readonly reference: string;
      readonly responseCode: string;
    };

export class Alarms {
  constructor(private readonly onAlarm: (alarm: Alarm) => void) {}

  duplicate({ stan, terminal }: Numbers): void {
    this.onAlarm({ kind: 'duplicate STAN', stan, terminal });
  }

  unexplained(count: number): void {
    this.onAlarm({ kind: 'unexplained approvals', count });
  }

  about(
    kind: 'reversal refused' | 'completion unclear',
    { reference }: Pick<Order, 'reference'>,
    { code: responseCode }: Response,
  ): void {
    this.onAlarm({ kind, reference, responseCode });
  }
}
