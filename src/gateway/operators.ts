// The operators' listener of a gateway, open from before the gateway starts until after it has stopped.
import type { Logger } from 'pino';
import type { Listener } from '../http/listener.js';
import type { Figures } from '../http/observability/metrics.js';
import { metricsPage } from '../http/observability/metrics-page.js';
import { listenForOperators, type Site } from '../http/operators-listener.js';
import type { Certificate } from '../http/tls.js';
import { isLoopback, Networks } from '../values/network.js';
import type { Gateway } from './gateway.js';
import { connectionFigures } from './observability/figures.js';
import type { Settings } from './settings/settings.js';

export interface Operators extends Pick<Listener, 'url' | 'close'> {
  /** Shows this gateway's metrics from now on, and those of its first process. */
  show(gateway: Pick<Gateway, 'figures' | 'certificate'>, further?: () => Figures): void;
  /** Serves the console from now on, and shows its metrics. */
  serve(site: Site, figures: () => Figures): void;
  /** With TLS, from the next handshake on. */
  useCertificate(certificate: Certificate): void;
}

/** Nothing if the settings want none. Outside loopback it uses the gateway's certificate, if there is one. */
export async function openOperators(
  { console: wanted, trustedProxies }: Pick<Settings, 'console' | 'trustedProxies'>,
  certificate: Certificate | undefined,
  log: Pick<Logger, 'warn'>,
): Promise<Operators | undefined> {
  if (wanted === undefined) return undefined;
  const { host, port, metricsToken, publicUrl } = wanted;
  let served: Site | undefined;
  let shown: Pick<Gateway, 'figures' | 'certificate'> | undefined;
  let ofFirstProcess: () => Figures = () => ({});
  let ofConsole = ofFirstProcess;
  const gather = async () => [
    connectionFigures('operators', listener.connections),
    ofFirstProcess(),
    ofConsole(),
    ...(shown === undefined ? [] : [...(await shown.figures()), certificateFigures(shown.certificate())]),
  ];
  const listener = await listenForOperators({
    host,
    port,
    certificate: isLoopback(host) ? undefined : certificate?.pair,
    pages: [metricsPage(gather, metricsToken)],
    site: () => served,
    publicHost: publicUrl && new URL(publicUrl).hostname,
    trustedProxies: Networks.read(trustedProxies ?? ''),
    log,
  });
  return {
    url: listener.url,
    show(gateway, further = () => ({})) {
      shown = gateway;
      ofFirstProcess = further;
    },
    serve(site, figures) {
      served = site;
      ofConsole = figures;
    },
    useCertificate: ({ pair }) => listener.useCertificate(pair),
    close: () => listener.close(),
  };
}

/** The first process has it, however many workers use it. */
function certificateFigures(certificate: Certificate | undefined): Figures {
  if (certificate === undefined) return {};
  return {
    certificateExpires: [[[], certificate.expiresAtMs / 1_000]],
    certificateIssued: [[[], certificate.validFromMs / 1_000]],
  };
}
