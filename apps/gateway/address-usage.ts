import { limits } from '../../lib/base/limits.ts';
import { type AddressUsage, type GatewayNode, type GatewaySocket, monotonicMs } from './state.ts';

/** Failures of an address are counted in windows of this length, in milliseconds. */
const windowMs = 60_000;

const isWindowOver = ({ windowStartMs }: AddressUsage): boolean => monotonicMs() - windowStartMs >= windowMs;

/** Whether the node refuses further sockets from the address now. */
export function isAddressFull({ addresses }: GatewayNode, address: string): boolean {
  const usage = addresses.get(address);
  if (!usage) return false;
  return (
    usage.openCount >= limits.gatewayUnidentifiedPerAddress ||
    (!isWindowOver(usage) && usage.failedCount >= limits.gatewayFailuresPerAddress)
  );
}

/** Counts a new socket of the address. */
export function addUnidentifiedSocket({ addresses, metrics }: GatewayNode, socket: GatewaySocket, address: string): void {
  const usage = addresses.get(address) ?? { openCount: 0, failedCount: 0, windowStartMs: monotonicMs() };
  usage.openCount++;
  addresses.set(address, usage);
  socket.address = address;
  metrics.sockets.inc({ kind: 'unidentified' });
}

/**
 * Stops counting the socket as unidentified. `hasFailed`: it closed without having identified, and the client is to blame. A second call for the same socket
 * does nothing.
 */
export function removeUnidentifiedSocket({ addresses, metrics }: GatewayNode, socket: GatewaySocket, hasFailed: boolean): void {
  const usage = socket.address === null ? undefined : addresses.get(socket.address);
  if (socket.address === null || !usage) return;
  usage.openCount--;
  if (isWindowOver(usage)) Object.assign(usage, { failedCount: 0, windowStartMs: monotonicMs() });
  if (hasFailed) usage.failedCount++;
  if (usage.openCount === 0 && usage.failedCount === 0) addresses.delete(socket.address);
  socket.address = null;
  metrics.sockets.dec({ kind: 'unidentified' });
}

/** Removes addresses without sockets whose failures are older than a minute. */
export function removeIdleAddresses({ addresses }: GatewayNode): void {
  for (const [address, usage] of addresses) if (usage.openCount === 0 && isWindowOver(usage)) addresses.delete(address);
}
