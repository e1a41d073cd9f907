// IP networks and addresses, and whether a host is this machine.
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Of an address as text: `isIP` says whether it is one. */
export const IP_ADDRESS_PATTERN = '^([0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$';

/** Networks such as `10.1.0.0/16` and `fd00::/8`; a single address is a network of one. */
export class Networks {
  readonly #members = new BlockList();

  private constructor() {}

  /** Comma-separated. Undefined if one of them is not a network. */
  static read(text: string): Networks | undefined {
    const networks = new Networks();
    const each = text.split(',').map((part) => part.trim());
    return each.every((part) => networks.#add(part)) ? networks : undefined;
  }

  has(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#members.check(address, family === 4 ? 'ipv4' : 'ipv6');
  }

  #add(text: string): boolean {
    const [, address = '', bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    const family = isIP(address);
    if (family === 0) return false;
    const all = family === 4 ? 32 : 128;
    const prefix = bits === undefined ? all : Number(bits);
    if (prefix > all) return false;
    this.#members.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
    return true;
  }
}

/** Whether a host name or address can only mean this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/i.test(host);
}

/** Shows an IPv4 address as such, even if an IPv6 listener sees it. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

/** The address itself, or of IPv6 its /64: each client has that many addresses. */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  // guard(networks: the addresses of a /64 count as one): !isIPv6(plain) ⇒ plain !== ''
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const before = head.split(':').filter((group) => group !== '');
  const after = (tail ?? '').split(':').filter((group) => group !== '');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...new Array<string>(zeros).fill('0'), ...after];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
