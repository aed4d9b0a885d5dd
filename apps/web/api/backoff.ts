const firstMs = 1_000;
const maxMs = 60_000;

/**
 * Returns how long to wait after `failures` consecutive failures, in milliseconds: exponential from 1 s to 60 s with full jitter, so that many pages do not
 * reconnect at once.
 */
export const backoffMs = (failures: number): number => Math.random() * Math.min(maxMs, firstMs * 2 ** failures);
