import { limits } from '../../base/limits.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import { previewLinks } from './preview-links.ts';

/** The account that a message's previews count for: its author. Previews of webhook messages count for the server, because a server may have many webhooks. */
export const previewsAccountOf = ({ face, serverId, authorId }: MessageDoc): string => (face && serverId !== null ? serverId : authorId);

/**
 * Enqueues the preview job of a message that has the `previewsAt` mark. Jobs of different accounts take turns. While 100 links of an account wait, its new
 * messages get no previews and lose the mark. While Redis or the database is unavailable the mark stays, and the sweep tries again.
 */
export async function nudgePreviews(platform: EnqueuePlatform, message: MessageDoc): Promise<void> {
  const { _id: messageId, content } = message;
  const ask = { queue: 'previews', accountId: previewsAccountOf(message), costs: [previewLinks(content).length] } as const;
  const priorities = await platform.reservePriorities({ ...ask, maxWaiting: limits.previewLinksWaiting }).catch(() => []);
  if (priorities) return platform.nudge('fetch-previews', { messageId }, priorities[0]);
  await platform.db.messages.updateOne({ _id: messageId, content }, { $unset: { previewsAt: 1 } }).catch(() => undefined);
}

/** Enqueues the preview job of a message again, at no cost to its account: most such jobs are on the queue already and keep their place there. */
export async function nudgePreviewsAgain(platform: EnqueuePlatform, message: MessageDoc): Promise<void> {
  const ask = { queue: 'previews', accountId: previewsAccountOf(message), costs: [0] } as const;
  const [priority] = (await platform.reservePriorities(ask).catch(() => null)) ?? [];
  platform.nudge('fetch-previews', { messageId: message._id }, priority);
}
