import { newRefusal } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { FileDoc } from '../store/models/file.ts';
import type { EnqueuePlatform } from '../store/platform.ts';

/** After how many seconds to try again what was refused. */
const retrySecs = 10;

/**
 * Reserves the conversion of one account's images, so that the images of all accounts take turns by their megapixels, and answers their priorities on the
 * queue. Refuses `images_waiting` when too many megapixels of the account would wait; while very many images wait in all, when any of the account would.
 * While Redis is away nothing is reserved, as nothing can be put on the queue.
 */
export async function reserveConversions(platform: EnqueuePlatform, accountId: string, megapixels: readonly number[]): Promise<number[]> {
  if (megapixels.length === 0) return [];
  try {
    const isFull = (await platform.waiting('media')) >= limits.imagesWaiting;
    const maxWaiting = isFull ? 0 : limits.imageMegapixelsWaiting;
    const priorities = await platform.reservePriorities({ queue: 'media', accountId, costs: megapixels, maxWaiting });
    if (priorities) return priorities;
  } catch {
    return [];
  }
  throw newRefusal('images_waiting', { limit: limits.imageMegapixelsWaiting, seconds: retrySecs }, { retryAfter: retrySecs });
}

/** Asks for the conversion of stored images; their number and size was checked when they were uploaded. Never fails: the sweep asks again. */
export async function nudgeConversions(platform: EnqueuePlatform, files: readonly FileDoc[]): Promise<void> {
  for (const { _id: fileId, accountId, channelId, megapixels = 1 } of files) {
    const ask = { queue: 'media', accountId: accountId ?? channelId, costs: [megapixels] } as const;
    const [priority] = (await platform.reservePriorities(ask).catch(() => null)) ?? [];
    platform.nudge('convert-image', { fileId }, priority);
  }
}
