import { refuse } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import type { GatewayNode } from './state.ts';

/** Who pays for a handshake: the address from the start, and the account once its token was checked. */
interface Payers {
  address: string | null;
  accountId?: string;
}

/**
 * Charges an identify or a resume to the budgets of its address and account on this node, whether it succeeds or not. Refuses with `rate_limited` when one of
 * them is used up. Charges nothing while RATE_LIMIT is off.
 */
export function chargeHandshake({ platform, decideLocally }: GatewayNode, { address, accountId }: Payers, cost = 1): void {
  if (platform.config.RATE_LIMIT === null) return;
  const charge = (key: string, perSecond: number, burst: number): void => {
    const charged = Math.min(cost, burst / 2); // so that the largest replay is possible
    const { isAllowed, retryAfterSecs } = decideLocally({ key, perSecond: perSecond / charged, burst: burst / charged });
    if (!isAllowed) refuse('rate_limited', { seconds: Math.ceil(retryAfterSecs) });
  };
  if (address !== null) charge(`address:${address}`, limits.gatewayAddressHandshakesPerSecond, limits.gatewayAddressHandshakesBurst);
  if (accountId !== undefined) charge(accountId, limits.gatewayHandshakesPerSecond, limits.gatewayHandshakesBurst);
}

/** Charges what a resume reads of the logs, seen or not: one more handshake for each 640 KiB. */
export function chargeReplay(node: GatewayNode, payers: Payers, bytes: number): void {
  if (bytes > 0) chargeHandshake(node, payers, bytes / limits.gatewayReplayBytesPerHandshake);
}
