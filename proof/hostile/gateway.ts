// The gateway process that hostile input is sent to: a fresh data directory, its log read line by line, and measures
// taken inside it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiledProgram } from '../../testkit/project.js';
import { type StandaloneGateway, startStandalone } from '../../testkit/standalone.js';
import type { FromInside, Measures, Stall, Wish } from './inside.js';

export interface HostileGateway extends StandaloneGateway {
  hasEnded(): boolean;
  /** With the wish `memory` after a garbage collection. */
  measure(wish?: Wish): Promise<Measures>;
  /** What its PostgreSQL has logged. */
  serverLog(): Promise<string>;
}

export interface Listeners {
  /** Gets every line of the log and of the standard error output. */
  readonly onLine: (line: string) => void;
  /** Gets every stall of the event loop. */
  readonly onStall: (stall: Stall) => void;
}

export async function startGateway({ onLine, onStall }: Listeners): Promise<HostileGateway> {
  const inside = pathToFileURL(compiledProgram('proof/hostile/inside')).href;
  const waiting: PromiseWithResolvers[] = [];
  const gateway = await startStandalone(
    { LOG_LEVEL: 'debug' },
    {
      keep: 'nothing',
      nodeArguments: ['--expose-gc', '--import', inside],
      onLine,
      onMessage: (message) => {
        const { stall, measures } = message as FromInside;
        if (stall) onStall(stall);
        if (measures) waiting.shift()?.resolve(measures);
      },
    },
  );
  let ended = false;
  void gateway.ended.then(() => {
    ended = true;
    for (const { reject } of waiting) reject(new Error('the gateway ended'));
  });
  return {
    ...gateway,
    hasEnded: () => ended,
    measure: (wish = 'stalls') =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        gateway.send(wish);
      }),
    serverLog: () => readFile(join(gateway.dataDir, 'postgres.log'), 'latin1').catch(() => ''),
  };
}

interface PromiseWithResolvers {
  resolve(measures: Measures): void;
  reject(error: Error): void;
}
