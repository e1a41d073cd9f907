// HAProxy between clients and gateways, configured as `tollgate fleet proxy` does it, but for TLS.
import { spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { haproxyConfiguration } from '../../src/http/haproxy.js';
import { freePort } from '../../testkit/gateway-process.js';

export interface BeforeGateways {
  readonly baseUrl: string;
  readonly kill: (signal: NodeJS.Signals) => void;
}

/** Undefined where there is no HAProxy. */
export async function proxyBefore(
  gateways: readonly { readonly baseUrl: string }[],
  folder: string,
): Promise<BeforeGateways | undefined> {
  if (spawnSync('haproxy', ['-v']).status !== 0) return undefined;
  const places = {
    bind: `127.0.0.1:${await freePort()}`,
    certificates: 'none',
    map: join(folder, 'fleet.map'),
    authority: '',
    socket: join(folder, 'proxy.sock'),
  };
  const addresses = gateways.map(({ baseUrl }) => new URL(baseUrl).host);
  const fleet = { cells: [{ name: 'one', gateways: addresses }] } as unknown as Parameters<
    typeof haproxyConfiguration
  >[0];
  const configuration = haproxyConfiguration(fleet, places).replace(' ssl crt none', '');
  await writeFile(places.map, '127.0.0.1 one\ngateway one\n');
  await writeFile(join(folder, 'haproxy.cfg'), configuration);
  const child = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  const origin = `http://${places.bind}`;
  while (
    !(await fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await sleep(100);
  return { baseUrl: `${origin}/v1`, kill: (signal) => child.kill(signal) };
}
