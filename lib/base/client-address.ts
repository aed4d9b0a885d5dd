import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Length of the network part of an IPv6 address, in bits. All addresses of one such network usually belong to one customer. */
const networkBits = 64;

/**
 * The form of an address that rate limits count. IPv4 stays as it is, and IPv4-mapped IPv6 becomes IPv4. Other IPv6 addresses become their network of 64 bits,
 * such as `2001:db8:1:2::/64`. The loopback address and texts that are not an address are not changed.
 */
function toRateLimitKey(address: string): string {
  const [withoutZone = ''] = address.split('%', 1); // without the zone of a link-local address
  if (isIP(withoutZone) === 0) return address;
  const parsed = ipaddr.process(withoutZone);
  if (parsed.kind() === 'ipv4' || parsed.range() === 'loopback') return parsed.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${networkBits}`);
  return `${network.toString()}/${networkBits}`;
}

/** The wider networks of IPv6 that providers give to one customer, in bits, the widest first. */
const customerBits = [48, 56];

/** The networks of `address`, which is in the form that rate limits count, the widest first and itself last. Only IPv6 has more than one. */
export function listNetworks(address: string): string[] {
  if (!ipaddr.IPv6.isValidCIDR(address)) return [address];
  return [
    ...customerBits.map((bits) => `${ipaddr.IPv6.networkAddressFromCIDR(`${address.split('/', 1)[0]}/${bits}`).toString()}/${bits}`),
    address,
  ];
}

/**
 * The client's address in the form that rate limits count (`toRateLimitKey`). It is the address that the outermost trusted proxy saw, or `remote` without
 * trusted proxies. `forwarded` is the X-Forwarded-For header, `remote` the address of the connection, and `trustedProxies` the number of trusted proxies
 * (TRUST_PROXY).
 */
export function clientAddress(forwarded: string | undefined, remote: string | undefined, trustedProxies: number): string {
  const hops = (forwarded ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);
  return toRateLimitKey((trustedProxies > 0 && hops[Math.max(0, hops.length - trustedProxies)]) || (remote ?? 'unknown'));
}

/** `clientAddress` of the sender of a request. */
export const readClientAddress = ({ headers, socket }: IncomingMessage, trustedProxies: number): string =>
  clientAddress(headers['x-forwarded-for']?.toString(), socket.remoteAddress, trustedProxies);
