import type { IncomingMessage } from 'node:http';
import { newRefusal, type Refusal } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';

/** How fast a body must arrive. */
export interface PaceLimits {
  /** How long the first byte may take, in milliseconds. */
  firstByteMs: number;
  /** The minimum average pace, in bytes per second. */
  bytesPerSec: number;
  /** Over how long the pace is averaged, in milliseconds. A body is never refused before that. */
  windowMs: number;
  /** How often the pace is measured, in milliseconds. */
  tickMs: number;
}

/** 1 KiB per second, averaged over 10 seconds. A phone on the slowest networks has ten times that, and a pause of some seconds is allowed. */
export const defaultPace: PaceLimits = {
  firstByteMs: limits.bodyFirstByteMs,
  bytesPerSec: limits.bodyBytesPerSec,
  windowMs: limits.bodyWindowMs,
  tickMs: 1_000,
};

/** Creates the refusal of a body that arrives too slowly. */
export const createTooSlowRefusal = (): Refusal => newRefusal('body_too_slow', { rate: limits.bodyBytesPerSec }, { retryAfter: 1 });

const createEndedEarlyRefusal = (): Refusal => newRefusal('invalid_request', { reason: 'the body ended early' });

/** Waits for the first byte of a body, or for the end of an empty one. Refuses `body_too_slow` after `firstByteMs`, and 400 when the client disconnects. */
export function waitForFirstByte(request: IncomingMessage, { firstByteMs } = defaultPace): Promise<void> {
  if (request.complete || request.readableLength > 0) return Promise.resolve();
  if (request.destroyed) return Promise.reject(createEndedEarlyRefusal());
  return new Promise<void>((resolve, reject) => {
    const finish = (action: () => void) => () => {
      clearTimeout(timer);
      request.off('readable', onReadable);
      request.off('close', onClose);
      action();
    };
    const onReadable = finish(resolve);
    const onClose = finish(() => reject(createEndedEarlyRefusal()));
    const timer = setTimeout(
      finish(() => reject(createTooSlowRefusal())),
      firstByteMs,
    );
    request.once('readable', onReadable);
    request.once('close', onClose);
  });
}

/** The pace of one body while it is read. */
export interface Pace {
  /** Rejects with `body_too_slow` when the body falls below the minimum pace, or with the refusal that is passed to `fail`. */
  failed: Promise<never>;
  fail(refusal: Refusal): void;
  /** Whether the body was slower than the minimum pace in the last 2 to 3 seconds. */
  isSlow(): boolean;
  stop(): void;
}

const slowTicks = 2;

/**
 * Measures how fast a body arrives, by the bytes received on its connection. Time in which this process has unread data does not count against the sender.
 */
export function watchPace(request: IncomingMessage, { bytesPerSec, windowMs, tickMs } = defaultPace): Pace {
  const windowTicks = Math.ceil(windowMs / tickMs);
  const bytesPerTick = (bytesPerSec * tickMs) / 1000;
  /** The connection's received bytes at each of the last ticks, oldest first. */
  let byteCounts = [request.socket.bytesRead];
  let fail: (refusal: Refusal) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);
  const isBelowPace = (ticks: number): boolean => {
    const oldCount = byteCounts.at(-1 - ticks);
    return oldCount !== undefined && !request.complete && request.socket.bytesRead - oldCount < ticks * bytesPerTick;
  };
  const timer = setInterval(() => {
    if (request.readableLength > 0) byteCounts = [];
    byteCounts.push(request.socket.bytesRead);
    if (byteCounts.length > windowTicks + 1) byteCounts.shift();
    if (isBelowPace(windowTicks)) fail(createTooSlowRefusal());
  }, tickMs);
  return { failed, fail, isSlow: () => isBelowPace(slowTicks), stop: () => clearInterval(timer) };
}

/** Reads a body by `read`, and measures its pace. Refuses `body_too_slow`. */
export async function readWithPaceLimit<T>(request: IncomingMessage, read: () => Promise<T>): Promise<T> {
  if (request.complete) return read();
  await waitForFirstByte(request);
  const pace = watchPace(request);
  try {
    return await Promise.race([read(), pace.failed]);
  } finally {
    pace.stop();
  }
}
