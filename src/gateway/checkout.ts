// The checkouts of a gateway: their table, what payers do with them, and the listener of their pages.
import { readPayersAssets } from '../checkout/assets.js';
import { Checkouts } from '../checkout/checkouts.js';
import { Payers } from '../checkout/payers.js';
import type { RequestFigures, RequestLog } from '../http/answers.js';
import { ClientAddresses } from '../http/authentication.js';
import type { Listener } from '../http/listener.js';
import { listenForPayers } from '../http/payers-listener.js';
import { PayersSite } from '../http/payers-site.js';
import type { Certificate } from '../http/tls.js';
import { readFleet } from '../installation/fleet/fleet-file.js';
import { isLoopback, Networks } from '../values/network.js';
import type { ClosingStack } from './closing-stack.js';
import { Loop } from './loop.js';
import type { Pipeline, PipelineParts } from './pipeline.js';
import { listenError, payersAddress } from './settings/ports.js';
import type { Settings } from './settings/settings.js';

type Parts = PipelineParts & { readonly pipeline: Pipeline };

const LOOK_EVERY_MS = 2_000;
/** Nobody can use them any more: this only removes them. */
const FORGET_CARDS_EVERY_MS = 10_000;
/** Beyond the acquirer's own time. */
const FURTHER_LEASE_MS = 5_000;

export interface OpenCheckouts {
  readonly checkouts: Checkouts;
  readonly payers: Payers;
}

/** Also where this process has no pages: another one may, and what has expired ends. */
export function openCheckouts(parts: Parts, stack: ClosingStack): OpenCheckouts {
  const { settings, databases, vault, registration, pipeline, seals, watch } = parts;
  const onError = (error: unknown) => watch.jobFailed('checkouts', error);
  const checkouts = new Checkouts({
    database: databases.vault,
    leases: databases.vital,
    keys: vault.keys,
    onBroken: (subject) => seals.report(subject, 'changed'),
  });
  const payers = new Payers({
    database: databases.vault,
    looks: databases.looks,
    checkouts,
    creation: pipeline.creation,
    limits: pipeline.limits,
    lookup: pipeline.lookup,
    searchFence: registration.searchFence,
    clock: registration.clock,
    tokens: vault.tokens,
    oneTimeCards: vault.oneTimeCards,
    wallets: vault.wallets,
    leaseMs: settings.acquirerDeadlineMs + FURTHER_LEASE_MS,
    onError,
  });
  const looking = new Loop(() => payers.run(), LOOK_EVERY_MS, onError);
  stack.opened(looking.start(), (loop) => loop.stop());
  const forgetting = new Loop(
    () =>
      Promise.all([
        vault.oneTimeCards.run(),
        vault.wallets.run(),
        pipeline.limits.forget(),
        pipeline.retries.forget(),
      ]),
    FORGET_CARDS_EVERY_MS,
    onError,
  );
  stack.opened(forgetting.start(), (loop) => loop.stop());
  return { checkouts, payers };
}

/** Read when a link of an organisation that has moved is opened: seldom, and the file may have changed. */
async function pagesOf({ fleet }: Settings, cell: string): Promise<string | undefined> {
  if (fleet === undefined) return undefined;
  const { cells } = await readFleet(fleet).catch(() => ({ cells: [] }));
  return cells.find(({ name }) => name === cell)?.checkout;
}

interface Listening extends Parts {
  readonly payers: Payers;
  readonly certificate: Certificate | undefined;
  readonly requests: RequestFigures;
  readonly requestLog: RequestLog;
  readonly backlog: number;
}

/** Undefined if the settings want none. Outside loopback it uses the gateway's certificate, if there is one. */
export async function listenToPayers(parts: Listening, stack: ClosingStack): Promise<Listener | undefined> {
  const {
    settings,
    databases,
    vault,
    registration,
    pipeline,
    payers,
    certificate,
    requests,
    requestLog,
    log,
    backlog,
  } = parts;
  const { checkout: wanted, trustedProxies } = settings;
  if (wanted === undefined) return undefined;
  let draining = false;
  const clientAddresses = new ClientAddresses(Networks.read(trustedProxies ?? ''));
  const pair = isLoopback(wanted.host) ? undefined : certificate?.pair;
  const site = new PayersSite({
    database: databases.vault,
    payers,
    wallets: vault.wallets,
    lookup: pipeline.lookup,
    clock: registration.clock,
    capacity: pipeline.capacity,
    assets: await readPayersAssets(),
    clientAddresses,
    requestLog,
    requests,
    log,
    domain: new URL(settings.checkoutUrl ?? 'http://localhost').hostname,
    isSecure: pair !== undefined || settings.checkoutUrl?.startsWith('https:') === true,
    pagesOf: (cell) => pagesOf(settings, cell),
    draining: () => draining,
    hasLost: () => registration.registry.lost !== undefined,
  });
  const address = payersAddress(settings);
  const listener = await listenForPayers({
    host: wanted.host,
    port: wanted.port,
    backlog,
    certificate: pair,
    site,
    clientAddresses,
    trustedProxies: Networks.read(trustedProxies ?? ''),
    now: () => registration.searchFence.now,
    log,
  }).catch((error) => {
    throw (address && listenError(error, address)) ?? error;
  });
  return stack.opened(listener, async (opened) => {
    draining = true;
    await opened.close();
  });
}
