// Networks and addresses of the Internet Protocol: which machine is meant, and whether it is this one.
import { BlockList, isIP } from 'node:net';

/** Networks such as `10.1.0.0/16` and `fd00::/8`; an address alone is a network of one. */
export class Networks {
  readonly #members = new BlockList();

  private constructor() {}

  /** With commas between. Undefined where one of them is no network. */
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

/** Whether a host, by name or address, can be nothing but this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/i.test(host);
}
