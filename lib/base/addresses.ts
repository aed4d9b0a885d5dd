import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The IPv6 range that is assigned for use on the public internet. Every other IPv6 address is special or unassigned. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether `address` is an ordinary public address: dotted IPv4 or IPv6, without brackets and zone (docs/security.md#address-checks). Returns false for
 * anything that is not an address, and for every special address: private, loopback, link-local, shared, benchmarking, documentation, multicast, reserved, and
 * the forms that contain an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo), whatever that address is.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(globalUnicast));
}

/** Whether both texts are the same address, in any notation. Returns false if one of them is not an address. */
export function isSameAddress(one: string, other: string): boolean {
  if (isIP(one) === 0 || isIP(other) === 0) return false;
  return ipaddr.parse(one).toNormalizedString() === ipaddr.parse(other).toNormalizedString();
}
