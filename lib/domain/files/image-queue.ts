import { newRefusal } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';

/** After how many seconds a refused upload may be tried again. */
const retrySecs = 10;

/**
 * Reserves queue priorities for the conversion of one account's images, so that accounts share the encoder fairly by megapixels. Refuses with `images_waiting`
 * if more than 1,000 megapixels of the account would wait or, while 5,000 or more conversions wait in total, if the account has any waiting. An account with
 * nothing waiting is never refused. Returns no priorities while Redis is unavailable, because nothing can be enqueued then.
 */
export async function reserveConversions(platform: EnqueuePlatform, accountId: string, megapixels: readonly number[]): Promise<number[]> {
  if (megapixels.length === 0) return [];
  try {
    const isFull = (await platform.jobs.countWaiting('media')) >= limits.imagesWaiting;
    const maxWaiting = isFull ? 0 : limits.imageMegapixelsWaiting;
    const priorities = await platform.jobs.reservePriorities({ queue: 'media', accountId, costs: megapixels, maxWaiting });
    if (priorities) return priorities;
  } catch {
    return [];
  }
  throw newRefusal('images_waiting', { limit: limits.imageMegapixelsWaiting, seconds: retrySecs }, { retryAfter: retrySecs });
}

/** Enqueues the conversion of stored images. Their number and size were checked at upload. Never fails: the sweep enqueues lost ones again. */
export async function enqueueConversions(platform: EnqueuePlatform, files: readonly FileDoc[]): Promise<void> {
  for (const { _id: fileId, accountId, channelId, megapixels = 1 } of files) {
    const reservation = { queue: 'media', accountId: accountId ?? channelId, costs: [megapixels] } as const;
    const [priority] = (await platform.jobs.reservePriorities(reservation).catch(() => null)) ?? [];
    platform.jobs.tryEnqueue('convert-image', { fileId }, { priority });
  }
}
