import { limits } from '../../base/limits.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import { findPreviewLinks } from './links.ts';

/** The account that a message's previews count for: its author. Previews of webhook messages count for the server, because a server may have many webhooks. */
export const getPreviewAccountId = ({ face, serverId, authorId }: MessageDoc): string => (face && serverId !== null ? serverId : authorId);

/**
 * Enqueues the preview job of a message that has the `previewsAt` mark. Jobs of different accounts take turns. While 100 links of an account wait, its new
 * messages get no previews and lose the mark. While Redis or the database is unavailable the mark stays, and the sweep tries again.
 */
export async function enqueuePreviews(platform: EnqueuePlatform, message: MessageDoc): Promise<void> {
  const { _id: messageId, channelId, content } = message;
  const reservation = { queue: 'previews', accountId: getPreviewAccountId(message), costs: [findPreviewLinks(content).length] } as const;
  const priorities = await platform.jobs.reservePriorities({ ...reservation, maxWaiting: limits.previewLinksWaiting }).catch(() => []);
  if (priorities) return platform.jobs.tryEnqueue('fetch-previews', { messageId, channelId }, { priority: priorities[0] });
  await platform.db.messages.updateOne({ _id: messageId, channelId, content }, { $unset: { previewsAt: 1 } }).catch(() => undefined);
}

/** Enqueues the preview job of a message again, at no cost to its account: most such jobs are on the queue already and keep their place there. */
export async function reenqueuePreviews(platform: EnqueuePlatform, message: MessageDoc): Promise<void> {
  const reservation = { queue: 'previews', accountId: getPreviewAccountId(message), costs: [0] } as const;
  const [priority] = (await platform.jobs.reservePriorities(reservation).catch(() => null)) ?? [];
  platform.jobs.tryEnqueue('fetch-previews', { messageId: message._id, channelId: message.channelId }, { priority });
}
