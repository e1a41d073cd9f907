// Stands between gateways and a host that speak AS 2805 and passes on what they say, message by message. When it is told to, it strikes
// at one: before its first byte is passed on, inside it, or right after its last byte. Whoever is struck, a gateway, the host or only
// the connection, is dead to the other side from that byte on.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from '../../testkit/chance.js';

export const VICTIMS = ['gateway', 'host', 'connection'] as const;
export type Victim = (typeof VICTIMS)[number];

/** Requests and their answers, repetitions included. */
export const MESSAGE_TYPES = [
  ...['0800', '0810', '0100', '0110', '0200', '0210'],
  ...['0220', '0221', '0230', '0420', '0421', '0430'],
] as const;

const PLACES = ['before', 'inside', 'after'] as const;
type Place = (typeof PLACES)[number];

const HEADER_BYTES = 2;
/**
 * So many messages a strike lets pass for a type that was struck less than others, before it takes one that was struck once more. Counted
 * in messages, because on a slow machine rare types come late.
 */
const PATIENCE_MESSAGES = 4;

interface Strike {
  readonly victim: Victim;
  /** Messages that it might have struck at. */
  seen: number;
  /** Whether it may strike on a connection of the gateway with this port. */
  readonly isMeant: (gatewayPort: number) => boolean;
  readonly strike: () => void;
  readonly struck: () => void;
}

export interface StrikeOptions {
  /** Its process; any gateway if none is named. */
  readonly gatewayPid?: number;
  /** When this is fulfilled, it strikes no more. */
  readonly until: Promise<unknown>;
  /** Ends the victim. The connection is cut anyway. */
  readonly strike?: () => void;
}

export class CuttingRelay {
  readonly #strikes = new Set<Strike>();
  /** How often, by victim, type and place. */
  readonly #done = new Map<string, number>();
  readonly #sockets = new Set<Socket>();
  /** Called with each whole message of a gateway, without its length. */
  onRequest: (message: Buffer) => void = () => {};
  #server: Server | undefined;
  #port = 0;

  private constructor(
    private readonly hostPort: number,
    private readonly random: Chance,
    private readonly patience: number,
  ) {}

  static async open(hostPort: number, random: Chance, patience = PATIENCE_MESSAGES): Promise<CuttingRelay> {
    const relay = new CuttingRelay(hostPort, random, patience);
    await relay.listen();
    return relay;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<void> {
    const server = createServer({ noDelay: true }, (gateway) => this.#relay(gateway));
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Connections are refused from now on, and those that are there end. */
  async stopListening(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** At a message of a type that this victim was struck at least often. False where none came in time. */
  async strikeAt(victim: Victim, { gatewayPid, until, strike = () => {} }: StrikeOptions): Promise<boolean> {
    let struck: () => void = () => {};
    const done = new Promise<boolean>((resolve) => {
      struck = () => resolve(true);
    });
    const planned: Strike = {
      victim,
      seen: 0,
      isMeant: gatewayPid === undefined ? () => true : this.#ownedBy(gatewayPid),
      strike,
      struck,
    };
    this.#strikes.add(planned);
    const isStruck = await Promise.race([done, until.then(() => false)]);
    this.#strikes.delete(planned);
    return isStruck;
  }

  /** The system is asked once for each connection. */
  #ownedBy(pid: number): (gatewayPort: number) => boolean {
    const known = new Map<number, boolean>();
    return (port) => {
      const owned = known.get(port) ?? hasSocket(pid, port, this.#port);
      known.set(port, owned);
      return owned;
    };
  }

  timesOf(victim: Victim, type: string): number {
    return PLACES.reduce((sum, place) => sum + this.#times(victim, type, place), 0);
  }

  /** `0200 3/4/2`: so often before, inside and after such a message. */
  inWords(victim: Victim): string {
    return MESSAGE_TYPES.map(
      (type) => `${type} ${PLACES.map((place) => this.#times(victim, type, place)).join('/')}`,
    ).join(', ');
  }

  #times(victim: Victim, type: string, place: Place): number {
    return this.#done.get(`${victim} ${type} ${place}`) ?? 0;
  }

  #relay(gateway: Socket): void {
    const host = connect({ host: '127.0.0.1', port: this.hostPort, noDelay: true });
    const port = gateway.remotePort ?? 0;
    const end = () => {
      for (const socket of [gateway, host]) {
        socket.destroy();
        this.#sockets.delete(socket);
      }
    };
    let isCut = false;
    for (const [from, to] of [
      [gateway, host],
      [host, gateway],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', end);
      from.on('close', end);
      let rest: Buffer = Buffer.alloc(0);
      from.on('data', (piece) => {
        rest = Buffer.concat([rest, piece]);
        while (!isCut && rest.length >= HEADER_BYTES + 2) {
          const length = HEADER_BYTES + rest.readUInt16BE(0);
          if (rest.length < length) return;
          const message = rest.subarray(0, length);
          rest = rest.subarray(length);
          if (from === gateway) this.onRequest(message.subarray(HEADER_BYTES));
          const passed = this.#struckAt(message, port);
          if (passed === undefined) {
            to.write(message);
            continue;
          }
          isCut = true;
          from.destroy();
          to.end(message.subarray(0, passed));
        }
      });
    }
  }

  /** How many bytes of the message are passed on, where somebody is struck at it. */
  #struckAt(message: Buffer, gatewayPort: number): number | undefined {
    if (this.#strikes.size === 0) return undefined;
    const type = message.toString('hex', HEADER_BYTES, HEADER_BYTES + 2);
    for (const planned of this.#strikes) {
      const { victim, isMeant, strike, struck } = planned;
      if (!isMeant(gatewayPort)) continue;
      planned.seen += 1;
      if (!this.#isDue(planned, type)) continue;
      const place = PLACES[this.timesOf(victim, type) % PLACES.length] as Place;
      const name = `${victim} ${type} ${place}`;
      this.#done.set(name, (this.#done.get(name) ?? 0) + 1);
      this.#strikes.delete(planned);
      // Once the bytes that are passed on have left.
      void sleep(place === 'before' ? 0 : 1).then(strike);
      struck();
      return { before: 0, inside: this.random.between(1, message.length - 1), after: message.length }[place];
    }
    return undefined;
  }

  /** The more it has let pass, the less it minds that the type was struck before. */
  #isDue({ victim, seen }: Strike, type: string): boolean {
    if (!MESSAGE_TYPES.some((each) => each === type)) return false;
    const least = Math.min(...MESSAGE_TYPES.map((each) => this.timesOf(victim, each)));
    return this.timesOf(victim, type) - least <= seen / this.patience;
  }
}

/** Whether the process has this end of a connection to the relay. */
function hasSocket(pid: number, port: number, relayPort: number): boolean {
  const hexadecimal = (number: number) => number.toString(16).toUpperCase().padStart(4, '0');
  const found = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(
      ([, local = '', remote = '']) =>
        local.endsWith(`:${hexadecimal(port)}`) && remote.endsWith(`:${hexadecimal(relayPort)}`),
    );
  if (found === undefined) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${found[9]}]`;
      } catch {
        return false;
      }
    });
  } catch {
    // It has ended.
    return false;
  }
}
