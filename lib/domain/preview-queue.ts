import { limits } from '../base/limits.ts';
import type { MessageDoc } from '../store/models/message.ts';
import type { EnqueuePlatform } from '../store/platform.ts';
import { previewLinks } from './preview-links.ts';

/** Whose share of the work a message's previews take: its author's, or of a webhook its server's, which may have many of those. */
export const previewsAccountOf = ({ face, serverId, authorId }: MessageDoc): string => (face && serverId !== null ? serverId : authorId);

/**
 * Asks for the previews of a message that has the mark, in turns with those of other accounts. While 100 links of an account wait, its messages get no
 * previews and lose the mark. Does nothing more while Redis or the database is away: the sweep asks again.
 */
export async function nudgePreviews(platform: EnqueuePlatform, message: MessageDoc): Promise<void> {
  const { _id: messageId, content } = message;
  const ask = { queue: 'previews', accountId: previewsAccountOf(message), costs: [previewLinks(content).length] } as const;
  const priorities = await platform.reservePriorities({ ...ask, maxWaiting: limits.previewLinksWaiting }).catch(() => []);
  if (priorities) return platform.nudge('fetch-previews', { messageId }, priorities[0]);
  await platform.db.messages.updateOne({ _id: messageId, content }, { $unset: { previewsAt: 1 } }).catch(() => undefined);
}

/** Asks again for the previews of a message, at no cost: most such messages are on the queue already and keep their place there. */
export async function nudgePreviewsAgain(platform: EnqueuePlatform, message: MessageDoc): Promise<void> {
  const ask = { queue: 'previews', accountId: previewsAccountOf(message), costs: [0] } as const;
  const [priority] = (await platform.reservePriorities(ask).catch(() => null)) ?? [];
  platform.nudge('fetch-previews', { messageId: message._id }, priority);
}
