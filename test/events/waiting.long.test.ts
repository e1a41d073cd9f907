// How many may wait for events at once: one organisation's crowd takes nothing from another.
import { expect, test } from 'vitest';
import { everyEvent } from '../../testkit/event-feed.js';
import { testGateway } from '../../testkit/gateway.js';

const MOST_OF_ORGANISATION = 200;

// catches(events: an organisation has so many who wait, and no more)
test('more waiting requests of an organisation than allowed → 503 for the excess, and others wait undisturbed', async () => {
  // None is shed because the machine is busy.
  const gateway = await testGateway({ settings: { MAX_DELAY_MS: '60000' } });
  const { next } = await everyEvent(gateway.api);
  const crowd = Array.from({ length: MOST_OF_ORGANISATION + 5 }, () => gateway.api.get(`${next}&wait=25`));
  const stranger = gateway.as(gateway.stranger);
  const theirs = stranger.get('/events?wait=25');
  // Only the refused requests are answered.
  const refused = await Promise.race([
    Promise.all(crowd.map((one) => one.then(({ status }) => status))),
    firstOf(crowd, 5),
  ]);
  expect(refused).toEqual(Array.from({ length: 5 }, () => 503));
  const { audit } = (await gateway.api.purchase()).body;
  await stranger.purchase({ merchant: 4 });
  const answers = await Promise.all(crowd);
  const told = answers.filter(({ status }) => status === 200);
  expect(told).toHaveLength(MOST_OF_ORGANISATION);
  expect(told.every(({ body }) => body.results[0]?.data.audit === audit)).toBe(true);
  expect((await theirs).body.results).toHaveLength(1);
  // An answered request waits no more: there is room again.
  expect((await gateway.api.get(`${next}&wait=25`)).status).toBe(200);
});

// catches(events: whoever goes away gives its place among those who wait back)
test('client that disconnects while it waits → its place is free again', async () => {
  const gateway = await testGateway();
  const { next } = await everyEvent(gateway.api);
  const leaving = new AbortController();
  const authorization = `Basic ${btoa(`${gateway.owner.username}:${gateway.owner.password}`)}`;
  const crowd = Array.from({ length: MOST_OF_ORGANISATION + 1 }, () =>
    fetch(`${gateway.baseUrl}${next}&wait=30`, { headers: { authorization }, signal: leaving.signal }),
  );
  const gone = crowd.map((one) => one.then(({ status }) => status).catch((error: Error) => error.name));
  // One too many is refused, whichever came last: all others wait.
  expect(await Promise.race(gone)).toBe(503);
  // By now the watcher has looked for the first time: nothing but their going ends their wait.
  await gateway.as(gateway.stranger).get('/events?wait=1');
  leaving.abort();
  expect(new Set(await Promise.all(gone))).toEqual(new Set([503, 'AbortError']));
  await expect.poll(async () => (await gateway.api.get(`${next}&wait=1`)).status).toBe(200);
});

/** The statuses of the first so many that are answered. */
function firstOf(requests: readonly Promise<{ status: number }>[], count: number): Promise<number[]> {
  const statuses: number[] = [];
  return new Promise((resolve) => {
    for (const request of requests) {
      void request.then(({ status }) => {
        statuses.push(status);
        if (statuses.length === count) resolve(statuses);
      });
    }
  });
}
