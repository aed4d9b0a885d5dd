import type { Context } from 'koa';
import { limits } from '../../../lib/base/limits.ts';
import type { State } from '../state.ts';

const isCompressed = (ctx: Context): boolean => !['', 'identity'].includes(ctx.get('Content-Encoding').toLowerCase());
const toCost = (bytes: number): number => 1 + Math.floor(Math.min(bytes, limits.bodyBytes) / limits.chargedBodyBytes);

/** How many requests a request counts as by the length that it declares for its body: one, and one more for each whole 64 KiB. */
export const getDeclaredCost = (ctx: Context): number => (isCompressed(ctx) ? 1 : toCost(Number(ctx.get('Content-Length') || 0)));

/** How many requests a refused request counts as, by what was received. A compressed body counts as the largest one, because it was decompressed. */
export function getReceivedCost(ctx: Context): number {
  if (isCompressed(ctx)) return toCost(limits.bodyBytes);
  return Math.max(getDeclaredCost(ctx), toCost(ctx.req.socket.bytesRead - (ctx.state as State).bytesReadBefore));
}

/** Whether a refused request has a large body that was read for nothing, or that is still on its way. */
export const hasLargeBody = (ctx: Context): boolean => (!ctx.req.complete || ctx.is('json') === 'json') && getReceivedCost(ctx) > 1;
