import { limits } from '../../lib/base/limits.ts';
import { type AddressUsage, type GatewayNode, type GatewaySocket, monotonic } from './state.ts';

/** Failures of an address are counted in windows of this length, in milliseconds. */
const windowMs = 60_000;

const isOver = ({ windowAt }: AddressUsage): boolean => monotonic() - windowAt >= windowMs;

/** Whether the node refuses further sockets from the address now. */
export function isAddressFull({ addresses }: GatewayNode, address: string): boolean {
  const usage = addresses.get(address);
  if (!usage) return false;
  return usage.open >= limits.gatewayUnidentifiedPerAddress || (!isOver(usage) && usage.failed >= limits.gatewayFailuresPerAddress);
}

/** Counts a new socket of the address. */
export function addSocket({ addresses, metrics }: GatewayNode, socket: GatewaySocket, address: string): void {
  const usage = addresses.get(address) ?? { open: 0, failed: 0, windowAt: monotonic() };
  usage.open++;
  addresses.set(address, usage);
  socket.address = address;
  metrics.sockets.inc({ kind: 'unidentified' });
}

/**
 * Stops counting the socket as unidentified. `failed`: it closed without having identified, and the client is to blame. A second call for the same socket does
 * nothing.
 */
export function removeSocket({ addresses, metrics }: GatewayNode, socket: GatewaySocket, failed: boolean): void {
  const usage = socket.address === null ? undefined : addresses.get(socket.address);
  if (socket.address === null || !usage) return;
  usage.open--;
  if (isOver(usage)) Object.assign(usage, { failed: 0, windowAt: monotonic() });
  if (failed) usage.failed++;
  if (usage.open === 0 && usage.failed === 0) addresses.delete(socket.address);
  socket.address = null;
  metrics.sockets.dec({ kind: 'unidentified' });
}

/** Forgets addresses without sockets whose failures are older than a minute. */
export function forgetAddresses({ addresses }: GatewayNode): void {
  for (const [address, usage] of addresses) if (usage.open === 0 && isOver(usage)) addresses.delete(address);
}
