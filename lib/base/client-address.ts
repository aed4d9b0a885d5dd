import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Bits of an IPv6 address that name its network. One customer has the rest. */
const networkBits = 64;

/** An address as limits count it: IPv4 as it is, also when IPv6 carries it; of IPv6 the network of 64 bits, as `2001:db8:1:2::/64`. */
function countedForm(address: string): string {
  const [bare = ''] = address.split('%', 1); // without the zone of a link-local address
  if (isIP(bare) === 0) return address;
  const parsed = ipaddr.process(bare);
  if (parsed.kind() === 'ipv4' || parsed.range() === 'loopback') return parsed.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${networkBits}`);
  return `${network.toString()}/${networkBits}`;
}

/**
 * The client's address, as every limit by address counts it: the one that the outermost believed proxy saw; of IPv6 its network of 64 bits. `forwarded` is the
 * X-Forwarded-For header, `remote` the address connected from, `trusted` how many proxies stand in front (TRUST_PROXY).
 */
export function clientAddress(forwarded: string | undefined, remote: string | undefined, trusted: number): string {
  const seen = (forwarded ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);
  return countedForm((trusted > 0 && seen[Math.max(0, seen.length - trusted)]) || (remote ?? 'unknown'));
}
