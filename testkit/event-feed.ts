// A client that follows the feed of events: the answers page by page, or all there is.
import type { Client, Json } from './client.js';

/** Follows `_links.next` from an address until an answer is empty. */
export async function everyEvent(
  api: Client,
  path = '/events?limit=100',
): Promise<{ events: Json[]; next: string }> {
  const events: Json[] = [];
  for (let next = path; ; ) {
    const { status, body, text } = await api.get(next);
    if (status !== 200) throw new Error(`the feed answered ${status}: ${text}`);
    next = nextOf(body);
    if (body.results.length === 0) return { events, next };
    events.push(...body.results);
  }
}

/** The address of the next answer, as the client takes it. */
export function nextOf({ _links }: Json): string {
  return (_links.next.href as string).slice('/v1'.length);
}

/** As `type version` of one subject, in the order in which they came. */
export function toldOf(events: readonly Json[], self: string): string[] {
  return events
    .filter(({ data }) => data._links.self.href.split('?')[0] === self)
    .map(({ type, version }) => `${type} ${version}`);
}
