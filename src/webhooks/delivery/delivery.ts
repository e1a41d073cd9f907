// The types of delivery: a leased endpoint, and the events that are sent to it or wait.
import { subjectKind } from '../../events/events.js';
import type { FeedEvent } from '../../events/feed.js';
import type { MerchantId, OrganisationId, WebhookEndpointId } from '../../values/ids.js';

export interface EndpointKey {
  readonly organisationId: OrganisationId;
  readonly id: WebhookEndpointId;
}

/** An endpoint that only this process serves until the lease ends. */
export interface LeasedEndpoint extends EndpointKey {
  readonly merchantId: MerchantId;
  readonly url: string;
  /** Null: every type. */
  readonly types: readonly string[] | null;
  readonly lease: number;
  readonly position: number;
  readonly failures: number;
  /** How many events wait for a retry, or behind one that does, and how many subjects they have. */
  readonly waiting: number;
  readonly waitingSubjects: number;
  readonly keyVersion: number;
  readonly sealed: Buffer;
  readonly secretVersion: number;
  readonly overlapping: boolean | null;
  /** Whether to probe the endpoint with a delivery that is not due. */
  readonly toProbe: boolean | null;
  /** By the database's clock, when it was leased. */
  readonly nowMs: number;
  /** Its newest seal in the journal, behind its version. */
  readonly newest: Buffer | null;
}

/** This many failures without a success, over as many subjects, show that nothing gets through. */
export const FAILING_AFTER = 5;

/** One subject that is always refused does not make an endpoint fail. */
export function isFailing({ failures, waitingSubjects }: LeasedEndpoint): boolean {
  return failures >= FAILING_AFTER && waitingSubjects >= FAILING_AFTER;
}

/** An event for an endpoint: events of one subject are delivered in the order of their versions. */
export interface DeliveryKey {
  readonly subject: string;
  readonly version: number;
}

/** A delivery that has failed before, or waited behind one that did. */
export interface WaitingDelivery extends DeliveryKey {
  readonly position: number;
  readonly attempts: number;
}

export interface Postponed extends WaitingDelivery {
  /** Undefined if it waits behind another delivery. */
  readonly pauseMs: number | undefined;
}

/** An event to send. */
export interface Delivery extends WaitingDelivery {
  readonly event: FeedEvent;
  /** Whether it waits in the table. */
  readonly stored: boolean;
  /** Whether an earlier delivery of the same subject waits, so that this one cannot be sent yet. */
  readonly behind: boolean;
  /** Sent before its time to see whether the endpoint is back. A failed probe does not count. */
  readonly probe: boolean;
}

/** An event fresh from the feed. */
export function freshDelivery(event: FeedEvent): Delivery {
  const { type, version, position } = event;
  const subject = `${subjectKind(type)}/${event.subject}`;
  return { subject, version, position, attempts: 0, event, stored: false, behind: false, probe: false };
}
