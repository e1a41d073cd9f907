// What deliveries are made of: an endpoint that a process works for, and events that are sent to it or wait.
import { subjectKind } from '../../events/events.js';
import type { FeedEvent } from '../../events/feed.js';
import type { MerchantId, OrganisationId, WebhookEndpointId } from '../../values/ids.js';

export interface EndpointKey {
  readonly organisationId: OrganisationId;
  readonly id: WebhookEndpointId;
}

/** An endpoint that this process alone works for, until the lease ends. */
export interface LeasedEndpoint extends EndpointKey {
  readonly merchantId: MerchantId;
  readonly url: string;
  /** Null: every type. */
  readonly types: readonly string[] | null;
  readonly lease: number;
  readonly position: number;
  readonly failures: number;
  /** How many events wait to be tried again, or behind one that does; and about how many subjects they are. */
  readonly waiting: number;
  readonly waitingSubjects: number;
  readonly keyVersion: number;
  readonly sealed: Buffer;
  readonly overlapping: boolean | null;
  /** Whether it is time to try it with something that is not due. */
  readonly toProbe: boolean | null;
  /** By the database's clock, when it was leased. */
  readonly nowMs: number;
}

/** So many failures without a success, about so many subjects, are enough to see that nothing gets through. */
export const FAILING_AFTER = 5;

/** One subject that is refused again and again is no sign of that. */
export function isFailing({ failures, waitingSubjects }: LeasedEndpoint): boolean {
  return failures >= FAILING_AFTER && waitingSubjects >= FAILING_AFTER;
}

/** An event for an endpoint: events about one subject are delivered in the order of their versions. */
export interface DeliveryKey {
  readonly subject: string;
  readonly version: number;
}

/** One that has failed before, or has waited behind one that did. */
export interface WaitingDelivery extends DeliveryKey {
  readonly position: number;
  readonly attempts: number;
}

export interface Postponed extends WaitingDelivery {
  /** Undefined where it waits behind another one. */
  readonly pauseMs: number | undefined;
}

/** An event to send. */
export interface Delivery extends WaitingDelivery {
  readonly event: FeedEvent;
  /** Whether it waits in the table. */
  readonly stored: boolean;
  /** Whether an earlier one about the same subject waits, so that it cannot be sent yet. */
  readonly behind: boolean;
  /** Whether it is sent before its time, to see whether the endpoint is back. Should that fail, it counts for nothing. */
  readonly probe: boolean;
}

/** An event that has just come out of the feed. */
export function freshDelivery(event: FeedEvent): Delivery {
  const { type, version, position } = event;
  const subject = `${subjectKind(type)}/${event.subject}`;
  return { subject, version, position, attempts: 0, event, stored: false, behind: false, probe: false };
}
