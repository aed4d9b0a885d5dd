import { refuse } from '../../base/errors.ts';
import { computePermissions } from '../../base/permissions.ts';
import type { Embed } from '../../contract/embed.ts';
import type { Message } from '../../contract/message.ts';
import type { WebhookPost } from '../../contract/webhook.ts';
import { exists } from '../../store/mongo/database.ts';
import type { MessageDoc, MessageDraft } from '../../store/mongo/models/message.ts';
import type { WebhookDoc } from '../../store/mongo/models/webhook.ts';
import type { FilesPlatform, Platform } from '../../store/platform.ts';
import type { CountedRate } from '../../store/redis/preflight.ts';
import { loadCurrentServerAccess } from '../access/checks.ts';
import type { ChannelContext } from '../channels/context.ts';
import { type CreateRequest, checkDraft, composeMessage, findMessageByCreateId, storeMessage, toCreateIdField } from '../messages/draft.ts';
import { replaceWithTombstone } from '../messages/messages.ts';
import { toMessage } from '../views/messages.ts';
import { countPost } from './rate.ts';
import { requireWebhookByToken } from './webhooks.ts';

/**
 * The channel of a webhook, with the permissions of `@everyone` there. They decide whom its posts ping, so a leaked URL cannot ping the whole server
 * (docs/behavior/webhooks.md#webhook-messages). A post needs nothing but the URL. 404 if the channel is gone.
 */
async function requireWebhookContext(platform: Platform, { _id, channelId, serverId }: WebhookDoc): Promise<ChannelContext> {
  const access = await loadCurrentServerAccess(platform, serverId);
  const channel = await access?.channel(channelId);
  if (!access || !channel) return refuse('not_found', { what: 'webhook' });
  const permissions = computePermissions(access.server, { userId: _id, roles: [] }, channel.overwrites);
  return { channelId, serverId, permissions, access, channel, dm: null };
}

/** What a webhook posts. */
export interface WebhookMessage {
  /** The id of a create that may be repeated. A repeat with the same id stores no second message. */
  createId?: string;
  content: string;
  embeds: Embed[];
  /** Whether its content may mention anybody. Posts of code hosts never do (docs/behavior/webhooks.md#webhook-messages). */
  canMention: boolean;
  /** A time in Unix milliseconds that the id of its message is above. */
  after?: number;
}

/** Removes the mentions from a composed message, whatever its content says. */
const withoutMentions = ({ pings: _pings, ...message }: MessageDraft): MessageDraft => ({
  ...message,
  mentions: [],
  mentionRoles: [],
  mentionEveryone: false,
});

/**
 * Stores a message of a webhook under its current name, with the pending event (docs/behavior/webhooks.md#webhook-messages). Afterward it reads the webhook
 * again: if it was deleted meanwhile, the message is removed and the post refused with 404. So every acknowledged message was stored while the webhook existed,
 * and none appears after the DELETE is answered. Also refuses 404 if the webhook's channel is gone.
 */
export async function storeWebhookMessage(
  platform: FilesPlatform,
  webhook: WebhookDoc,
  { content, embeds, canMention, createId, after }: WebhookMessage,
): Promise<MessageDoc> {
  const { _id: authorId, name } = webhook;
  const context = await requireWebhookContext(platform, webhook);
  const composed = await composeMessage(platform, { createId, context, authorId, content, embeds });
  const face = { username: name, displayName: name, avatarUrl: null, tag: 'bot' as const };
  const stored = await storeMessage(platform, { ...(canMention ? composed : withoutMentions(composed)), face }, { after });
  if (await exists(platform.db.webhooks, { _id: authorId })) return stored;
  await replaceWithTombstone(platform, stored);
  return refuse('not_found', { what: 'webhook' });
}

/** A post by a webhook's URL that was counted. */
interface AdmittedPost {
  webhook: WebhookDoc;
  draft: Pick<WebhookMessage, 'content' | 'embeds'>;
}

/**
 * Checks a post by a webhook's URL and counts it (`countPost`). Refuses 404 for a wrong id or token, and if the webhook's channel is gone, and 400 for a message
 * that shows nothing, before it is counted.
 */
export async function admitWebhookPost(
  platform: FilesPlatform,
  { id, token, input, createId }: { id: string; token: string; input: WebhookPost; createId: string },
): Promise<{ rates: CountedRate[]; found: AdmittedPost }> {
  const webhook = await requireWebhookByToken(platform, id, token);
  await requireWebhookContext(platform, webhook);
  const draft = checkDraft({ content: input.content ?? '', embeds: input.embeds ?? [] });
  const decision = await countPost(platform, webhook._id, 'direct');
  // The message of a create that is repeated after a crash exists and was counted already. It must not be refused now.
  const isCounted = decision.isAllowed || !(await findMessageByCreateId(platform, webhook.channelId, createId));
  return { rates: isCounted ? [{ bucketName: 'webhook', decision }] : [], found: { webhook, draft } };
}

/**
 * Posts by a webhook's URL (docs/behavior/webhooks.md#posting-by-url): under its name, with the tag `bot`. Formatting and mentions are those of messages; slow
 * mode does not apply.
 */
export async function postByWebhook(platform: FilesPlatform, { webhook, draft }: AdmittedPost, create: CreateRequest): Promise<Message> {
  const stored = await storeWebhookMessage(platform, webhook, { ...toCreateIdField(create), ...draft, canMention: true });
  return toMessage(platform, stored, null);
}
