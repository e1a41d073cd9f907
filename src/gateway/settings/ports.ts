// The addresses that a gateway listens on: checked to be free before anything starts, with a clear message if not.
import { createServer, type Server } from 'node:net';
import { type Settings, SettingsError } from './settings.js';

interface Address {
  readonly host: string;
  readonly port: number;
  /** The settings that name it. */
  readonly hostSetting: string;
  readonly portSetting: string;
  /** What to do if it is taken. */
  readonly advice: string;
}

export function merchantsAddress({ host, port }: Settings): Address {
  return {
    host,
    port,
    hostSetting: 'TOLLGATE_HOST',
    portSetting: 'TOLLGATE_PORT',
    advice: 'set TOLLGATE_PORT to a free one',
  };
}

export function operatorsAddress({ console: operators }: Settings): Address | undefined {
  return (
    operators && {
      ...operators,
      hostSetting: 'TOLLGATE_CONSOLE_HOST',
      portSetting: 'TOLLGATE_CONSOLE_PORT',
      advice: 'set TOLLGATE_CONSOLE_PORT to a free one for metrics and the console, or to off',
    }
  );
}

export function payersAddress({ checkout }: Settings): Address | undefined {
  return (
    checkout && {
      ...checkout,
      hostSetting: 'TOLLGATE_CHECKOUT_HOST',
      portSetting: 'TOLLGATE_CHECKOUT_PORT',
      advice: 'set TOLLGATE_CHECKOUT_PORT to a free one for the pages of payers, or to off',
    }
  );
}

/** All at the same time: one port cannot be two. */
export async function checkPortsAreFree(settings: Settings): Promise<void> {
  const probes: Server[] = [];
  try {
    for (const address of [merchantsAddress(settings), operatorsAddress(settings), payersAddress(settings)]) {
      if (address !== undefined && address.port !== 0) probes.push(await probe(address));
    }
  } finally {
    await Promise.all(probes.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

function probe(address: Address): Promise<Server> {
  const { host, port } = address;
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', (error) => reject(listenError(error, address) ?? error))
      .listen({ host, port, exclusive: true }, () => resolve(server));
  });
}

/** The error in the operator's words, if it is about the address to listen on. */
export function listenError(error: unknown, address: Address): SettingsError | undefined {
  const { host, port, hostSetting, portSetting, advice } = address;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new SettingsError(`port ${port} on ${host} is taken by another program; ${advice}`);
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined;
  return new SettingsError(
    `${hostSetting} ${host} and ${portSetting} ${port} cannot be listened on (${code})`,
  );
}
