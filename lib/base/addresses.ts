import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** All that is given out for use on the public internet; every other IPv6 address is special or not given out at all. */
const givenOut = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether `address` is an ordinary public address: dotted IPv4 or IPv6, without brackets and zone (docs/security.md#address-checks). False for anything that
 * is no address, and for every special address: private, loopback, link-local, shared, benchmarking, documentation, multicast, reserved, and the forms that
 * carry an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo), whatever that address is.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(givenOut));
}

/** Whether both are the same address, however they are spelled. */
export function isSameAddress(one: string, other: string): boolean {
  if (isIP(one) === 0 || isIP(other) === 0) return false;
  return ipaddr.parse(one).toNormalizedString() === ipaddr.parse(other).toNormalizedString();
}
