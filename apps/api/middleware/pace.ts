import type { IncomingMessage } from 'node:http';
import { newRefusal, type Refusal } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';

/** How fast a body must arrive. */
export interface PaceBounds {
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
export const defaultPace: PaceBounds = {
  firstByteMs: limits.bodyFirstByteMs,
  bytesPerSec: limits.bodyBytesPerSec,
  windowMs: limits.bodyWindowMs,
  tickMs: 1_000,
};

/** Creates the refusal of a body that arrives too slowly. */
export const tooSlow = (): Refusal => newRefusal('body_too_slow', { rate: limits.bodyBytesPerSec }, { retryAfter: 1 });

const endedEarly = (): Refusal => newRefusal('invalid_request', { reason: 'the body ended early' });

/** Waits for the first byte of a body, or for the end of an empty one. Refuses `body_too_slow` after `firstByteMs`, and 400 when the client disconnects. */
export function waitForBody(request: IncomingMessage, { firstByteMs } = defaultPace): Promise<void> {
  if (request.complete || request.readableLength > 0) return Promise.resolve();
  if (request.destroyed) return Promise.reject(endedEarly());
  return new Promise<void>((resolve, reject) => {
    const settle = (act: () => void) => () => {
      clearTimeout(timer);
      request.off('readable', ready);
      request.off('close', gone);
      act();
    };
    const ready = settle(resolve);
    const gone = settle(() => reject(endedEarly()));
    const timer = setTimeout(
      settle(() => reject(tooSlow())),
      firstByteMs,
    );
    request.once('readable', ready);
    request.once('close', gone);
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

const contestedTicks = 2;

/**
 * Measures how fast a body arrives, by the bytes received on its connection. Time in which this process has unread data does not count against the sender.
 */
export function watchPace(request: IncomingMessage, { bytesPerSec, windowMs, tickMs } = defaultPace): Pace {
  const windowTicks = Math.ceil(windowMs / tickMs);
  const bytesPerTick = (bytesPerSec * tickMs) / 1000;
  /** The connection's received bytes at each of the last ticks, oldest first. */
  let counts = [request.socket.bytesRead];
  let fail: (refusal: Refusal) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);
  const isBelow = (ticks: number): boolean => {
    const from = counts.at(-1 - ticks);
    return from !== undefined && !request.complete && request.socket.bytesRead - from < ticks * bytesPerTick;
  };
  const timer = setInterval(() => {
    if (request.readableLength > 0) counts = [];
    counts.push(request.socket.bytesRead);
    if (counts.length > windowTicks + 1) counts.shift();
    if (isBelow(windowTicks)) fail(tooSlow());
  }, tickMs);
  return { failed, fail, isSlow: () => isBelow(contestedTicks), stop: () => clearInterval(timer) };
}

/** Reads a body by `read`, and measures its pace. Refuses `body_too_slow`. */
export async function readAtPace<T>(request: IncomingMessage, read: () => Promise<T>): Promise<T> {
  if (request.complete) return read();
  await waitForBody(request);
  const pace = watchPace(request);
  try {
    return await Promise.race([read(), pace.failed]);
  } finally {
    pace.stop();
  }
}
