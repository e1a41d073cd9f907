// Which addresses a webhook may reach: the public internet, and the networks that the operator allows. The address to be
// connected to is judged, never a name.
import { networkInterfaces } from 'node:os';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';

/** A network of the operator's that webhooks may reach although it is not public, also without TLS. */
export type Network = readonly [address: IPv4 | IPv6, bits: number];

export type Verdict = 'public' | 'allowed' | 'forbidden';

/** The addresses of `localhost` and every name below it. */
const LOOPBACK = ['127.0.0.1', '::1'];

export function isLocalhost(name: string): boolean {
  return /(^|\.)localhost\.*$/i.test(name);
}

/** The only part of IPv6 with public addresses. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Looks public, but the host of a virtual machine answers: Azure's metadata. */
const METADATA = ['168.63.129.16'];

/** Undefined if the text is not a network such as `10.1.0.0/16` or `fd00::/8`. */
export function readNetwork(text: string): Network | undefined {
  const [address = '', bits = '', ...rest] = text.split('/');
  const written = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  if (rest.length > 0 || !written || !/^\d{1,3}$/.test(bits) || address.includes('%')) return undefined;
  const parsed = ipaddr.parse(address);
  return Number(bits) <= (parsed.kind() === 'ipv4' ? 32 : 128) ? [parsed, Number(bits)] : undefined;
}

/** For texts that were validated before. */
export function readNetworks(texts: readonly string[]): Network[] {
  return texts.map(readNetwork).filter((network) => network !== undefined);
}

/**
 * An IPv4 address wrapped in an IPv6 one (mapped, NAT64, 6to4, Teredo) is judged as written: it is never public, and only an
 * IPv6 network can allow it.
 */
export function judge(text: string, networks: readonly Network[]): Verdict {
  const address = ipaddr.parse(text);
  if (networks.some((network) => contains(network, address))) return 'allowed';
  return isPublic(address) && !isOwn(address) ? 'public' : 'forbidden';
}

/** If one of the loopback addresses is allowed, that one is meant. */
export function judgeLoopback(networks: readonly Network[]): Verdict {
  return loopbackIn(networks).length > 0 ? 'allowed' : 'forbidden';
}

export function loopbackIn(networks: readonly Network[]): string[] {
  return LOOPBACK.filter((address) => judge(address, networks) === 'allowed');
}

function contains([network, bits]: Network, address: IPv4 | IPv6): boolean {
  return network.kind() === address.kind() && address.match([network, bits] as never);
}

function isPublic(address: IPv4 | IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv6') return (address as IPv6).match(GLOBAL_UNICAST);
  return !METADATA.includes(address.toString());
}

/** A service on a public address of this machine may be meant for this machine only. */
function isOwn(address: IPv4 | IPv6): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((each) => ipaddr.parse(each.address).toString() === address.toString());
}
