// HAProxy's configuration for a fleet: nothing else makes one.
import type { Cell, Fleet } from '../installation/fleet/fleet-file.js';

/** Where the proxy finds what its configuration names. */
export interface ProxyPlaces {
  /** A file or a folder of certificates with their keys. */
  readonly certificates: string;
  readonly map: string;
  /** The authority of the gateways' certificates, if they speak TLS. */
  readonly authority: string;
  readonly socket: string;
  /** Such as `:443`. */
  readonly bind: string;
}

export const USUAL_PLACES: ProxyPlaces = {
  certificates: '/etc/haproxy/tls/',
  map: '/etc/haproxy/fleet.map',
  authority: '/etc/haproxy/authority.pem',
  socket: '/run/haproxy/admin.sock',
  bind: ':443',
};

const BY_TLS = 'https://';

const refusal = (code: string, message: string, location = '[]') =>
  `content-type application/json string '{"errors":[{"error_code":"${code}","error_message":"${message}","location":${location}}]}'`;

/** HAProxy's own answers are in the gateway's form. They say nothing about a payment, so that clients search. */
export function haproxyConfiguration({ cells }: Fleet, places: ProxyPlaces = USUAL_PLACES): string {
  const { certificates, map, socket, bind } = places;
  return `# Made by \`tollgate fleet proxy\`: make it again when the fleet file changes.
global
  log stdout format raw local0 notice
  # To drain a gateway, or to change the map without a reload.
  stats socket ${socket} mode 600 level admin
  ssl-default-bind-options ssl-min-ver TLSv1.2

defaults
  mode http
  log global
  timeout connect 2s
  timeout check 2s
  # A client has 10 seconds for a whole request; a gateway may wait for an acquirer, and a reader of events for 30 seconds.
  timeout http-request 10s
  timeout http-keep-alive 60s
  timeout client 60s
  timeout server 60s
  # A request is sent to another gateway of its cell only if the connection failed: then nothing was sent.
  option redispatch
  # What a client no longer waits for is not sent: it asks what became of it, and is told that there is nothing.
  option abortonclose
  retries 2
  retry-on conn-failure
  http-error status 502 ${refusal('unavailable', 'No gateway answered.')}
  http-error status 503 ${refusal('unavailable', 'No gateway can be reached.')}
  http-error status 504 ${refusal('unavailable', 'The gateway did not answer in time.')}

frontend clients
  bind ${bind} ssl crt ${certificates}
  option forwardfor
  http-request set-var(txn.cell) req.hdr(host),field(1,:),lower,map(${map})
  http-request return status 421 ${refusal('organisation_moved', 'No cell serves this name. Nothing was processed.', '["header","Host"]')} unless { var(txn.cell) -m found }
  use_backend cell_%[var(txn.cell)]

${cells.map((cell) => backendOf(cell, places)).join('\n')}`;
}

function backendOf({ name, gateways }: Cell, { authority }: ProxyPlaces): string {
  const servers = gateways.map((gateway, index) => {
    const address = gateway.replace(BY_TLS, '');
    const host = address.replace(/:[0-9]+$/, '');
    const isNamed = /[a-z]/.test(host) && !host.startsWith('[');
    const tls = ` ssl verify required ca-file ${authority}${isNamed ? ` verifyhost ${host}` : ''}`;
    return `  server ${name}-${index + 1} ${address}${gateway.startsWith(BY_TLS) ? tls : ''}\n`;
  });
  return `backend cell_${name}
  balance leastconn
  option httpchk GET /readyz
  http-check expect status 200
  default-server check inter 1s fall 2 rise 1
${servers.join('')}`;
}
