// Sends a page of events to an endpoint: subjects beside each other, the events about one subject one after the other. Who fails
// holds up what is behind it, and nothing else.
import type { EventBodies } from '../../events/feed.js';
import type { OrganisationId } from '../../values/ids.js';
import type { Shares } from '../../values/shares.js';
import { MESSAGE_HEADERS, signatureHeaders } from '../signature.js';
import { type Delivery, FAILING_AFTER } from './delivery.js';
import { isDelivered } from './outcome.js';
import type { Pace } from './pace.js';
import type { Attempt, Sender } from './sender.js';

export interface PageParts {
  readonly bodies: EventBodies;
  readonly sender: Pick<Sender, 'post'>;
  readonly shares: Shares;
  readonly pace: Pace;
  /** Told of every attempt. */
  readonly onAttempt?: (sent: Sent) => void;
  /** Whether connections were closed here: an attempt that failed since then says nothing of the receiver. */
  readonly aborted: () => boolean;
}

/** To whom, and until when. */
export interface Recipient {
  readonly organisationId: OrganisationId;
  readonly url: string;
  readonly secrets: readonly string[];
  /** By the database's clock. */
  readonly nowMs: () => number;
  /** Whether another attempt can be begun and ended while the lease lasts. */
  readonly hasTime: () => boolean;
}

export interface Sent {
  readonly delivery: Delivery;
  readonly atMs: number;
  readonly attempt: Attempt;
}

export interface PageResult {
  readonly sent: readonly Sent[];
  /** Not sent: for want of time, or because nothing gets through. */
  readonly left: readonly Delivery[];
}

/** At once for one endpoint. */
const SUBJECTS_AT_ONCE = 8;

export async function sendPage(
  parts: PageParts,
  recipient: Recipient,
  deliveries: readonly Delivery[],
): Promise<PageResult> {
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
  // Each takes the next chain that nobody has taken.
  const takers = Array.from({ length: Math.min(SUBJECTS_AT_ONCE, chains.length) }, async () => {
    for (let chain = chains.shift(); chain !== undefined; chain = chains.shift()) await sendChain(chain);
  });
  await Promise.all(takers);
  return { sent, left };
}

/** Of a subject, only the first has a time of its own. */
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
