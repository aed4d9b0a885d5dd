const firstMs = 1_000;
const mostMs = 60_000;

/** How long to wait after so many failures, in milliseconds: exponential from 1 s to 60 s with full jitter, so that many pages do not come back at once. */
export const backoffMs = (failures: number): number => Math.random() * Math.min(mostMs, firstMs * 2 ** failures);
