// Whether the gateway can be reached all the time, whatever others send to it.
import { setTimeout as sleep } from 'node:timers/promises';
import { Kept } from './hostile-connection.js';
import type { HostileGateway } from './hostile-gateway.js';

/** A cheap request at a steady pace on a connection of its own. */
export function startProbe(
  gateway: Pick<HostileGateway, 'port' | 'hasEnded'>,
  unreached: (status: number | undefined) => Promise<void>,
): { end(): Promise<number> } {
  const connection = new Kept(gateway.port);
  let longestMs = 0;
  let ended = false;
  const task = (async () => {
    while (!ended && !gateway.hasEnded()) {
      const begunMs = performance.now();
      const answer = await connection.send('GET /livez HTTP/1.1\r\nHost: gateway\r\n\r\n');
      longestMs = Math.max(longestMs, performance.now() - begunMs);
      if (answer?.status !== 200) await unreached(answer?.status);
      await sleep(20);
    }
    connection.close();
  })();
  return {
    end: async () => {
      ended = true;
      await task;
      return longestMs;
    },
  };
}
