// Sends a batch of events to an endpoint: subjects in parallel, the events of one subject in order. A failed event holds up
// only the later events of its subject.
import type { EventBodies } from '../../events/feed.js';
import type { OrganisationId } from '../../values/ids.js';
import type { Shares } from '../../values/shares.js';
import { MESSAGE_HEADERS, signatureHeaders } from '../signature.js';
import { type Delivery, FAILING_AFTER } from './delivery.js';
import { isDelivered } from './outcome.js';
import type { Pace } from './pace.js';
import type { Attempt, Sender } from './sender.js';

export interface BatchParts {
  readonly bodies: EventBodies;
  readonly sender: Pick<Sender, 'post'>;
  readonly shares: Shares;
  readonly pace: Pace;
  /** Called for every attempt. */
  readonly onAttempt?: (sent: Sent) => void;
  /** Whether this process closed connections: a failed attempt then says nothing about the receiver. */
  readonly aborted: () => boolean;
}

/** The endpoint, and until when. */
export interface Recipient {
  readonly organisationId: OrganisationId;
  readonly url: string;
  readonly secrets: readonly string[];
  /** By the database's clock. */
  readonly nowMs: () => number;
  /** Whether another attempt can start and end within the lease. */
  readonly hasTime: () => boolean;
}

export interface Sent {
  readonly delivery: Delivery;
  readonly atMs: number;
  readonly attempt: Attempt;
}

export interface BatchResult {
  readonly sent: readonly Sent[];
  /** Not sent: no time was left, or nothing gets through. */
  readonly left: readonly Delivery[];
}

/** At once for one endpoint. */
const SUBJECTS_AT_ONCE = 8;

export async function sendBatch(
  parts: BatchParts,
  recipient: Recipient,
  deliveries: readonly Delivery[],
): Promise<BatchResult> {
  const ready = deliveries.filter(({ behind }) => !behind);
  const bodies = await parts.bodies(ready.map(({ event }) => event));
  const texts = new Map(ready.map(({ event }, place) => [event.id, JSON.stringify(bodies[place])]));
  const chains = bySubject(ready);
  const sent: Sent[] = [];
  const left = deliveries.filter(({ behind }) => behind);
  let succeeded = false;
  const hopeless = () => !succeeded && sent.length >= FAILING_AFTER;

  const sendChain = async (chain: readonly Delivery[]) => {
    for (const [place, delivery] of chain.entries()) {
      const made = await parts.shares.run(recipient.organisationId, async () => {
        await parts.pace.wait();
        if (hopeless() || !recipient.hasTime()) return undefined;
        return post(parts.sender, recipient, delivery, texts.get(delivery.event.id) as string);
      });
      const delivered = made !== undefined && isDelivered(made.attempt);
      if (made === undefined || (!delivered && parts.aborted())) {
        left.push(delivery, ...behind(chain.slice(place + 1)));
        return;
      }
      sent.push(made);
      parts.onAttempt?.(made);
      if (!delivered) {
        left.push(...behind(chain.slice(place + 1)));
        return;
      }
      succeeded = true;
    }
  };
  // Each takes the next free chain.
  const takers = Array.from({ length: Math.min(SUBJECTS_AT_ONCE, chains.length) }, async () => {
    for (let chain = chains.shift(); chain !== undefined; chain = chains.shift()) await sendChain(chain);
  });
  await Promise.all(takers);
  return { sent, left };
}

/** Only the first delivery of a subject has a retry time of its own. */
function behind(later: readonly Delivery[]): Delivery[] {
  return later.map((delivery) => ({ ...delivery, behind: true }));
}

function bySubject(deliveries: readonly Delivery[]): Delivery[][] {
  const chains = new Map<string, Delivery[]>();
  for (const delivery of deliveries) {
    const chain = chains.get(delivery.subject);
    if (chain === undefined) chains.set(delivery.subject, [delivery]);
    else chain.push(delivery);
  }
  return [...chains.values()];
}

async function post(
  sender: Pick<Sender, 'post'>,
  { url, secrets, nowMs }: Recipient,
  delivery: Delivery,
  body: string,
): Promise<Sent> {
  const atMs = nowMs();
  const { id } = delivery.event;
  const signature = signatureHeaders(secrets, { id, timestampSeconds: Math.floor(atMs / 1_000), body });
  const attempt = await sender.post({ url, headers: { ...MESSAGE_HEADERS, ...signature }, body });
  return { delivery, atMs, attempt };
}
