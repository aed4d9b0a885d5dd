import { channelKinds } from '../../base/channel-kinds.ts';
import { Refusal, refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { NewWebhook, Webhook, WebhookInput, WebhookPatch } from '../../contract/webhook.ts';
import { exists } from '../../store/mongo/database.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { WebhookDoc } from '../../store/mongo/models/webhook.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { createSecret, isSameSecret, seal, sha256, unseal } from '../../store/seal.ts';
import { diffFields, writeAudit } from '../access/audit.ts';
import { type Actor, requirePermissions, requireServerChannelOf } from '../access/checks.ts';
import { requireChannel } from '../channels/context.ts';
import { deleteDeliveries, expireDeliveries } from './delivery-log.ts';

/** A webhook with its token and URL, for those who may manage it. Both are null if the token cannot be decrypted. */
function toWebhook(platform: Platform, doc: WebhookDoc): Webhook {
  const token = unseal(platform.config, doc.token);
  return token === null ? { ...toPublicFields(doc), token, url: null } : toWebhookWithToken(platform, doc, token);
}

const toPublicFields = ({ _id, channelId, serverId, name, createdAt }: WebhookDoc): Omit<Webhook, 'token' | 'url'> => ({
  id: _id,
  channelId,
  serverId,
  name,
  createdAt: createdAt.toISOString(),
});

const toWebhookWithToken = ({ config }: Platform, doc: WebhookDoc, token: string): NewWebhook => ({
  ...toPublicFields(doc),
  token,
  url: `${config.baseUrl}/api/webhooks/${doc._id}/${token}`,
});

/** A channel in which the caller may manage webhooks. 400 unless it is text or announcement (docs/behavior/webhooks.md#managing-webhooks). */
async function requireWebhookChannel(platform: Platform, actor: Actor, channelId: string): Promise<ChannelDoc> {
  const { channel, permissions } = await requireChannel(platform, actor, channelId);
  if (!channel || !channelKinds[channel.kind].hasThreadsAndWebhooks)
    return refuse('invalid_request', { reason: 'only text and announcement channels can have webhooks' });
  requirePermissions(permissions, 'Manage Webhooks');
  return channel;
}

/** What an audit entry says about a webhook that was created or deleted; never its token. */
const toAuditFields = ({ name, channelId }: Pick<WebhookDoc, 'name' | 'channelId'>) => ({ name, channelId });
const noAuditFields = { name: null, channelId: null };

/** Replaces a webhook's token. Refuses 404 if the webhook was deleted meanwhile. */
async function replaceToken(platform: Platform, id: string): Promise<NewWebhook> {
  const token = createSecret();
  const set = { token: seal(platform.config.APP_KEY, token), tokenHash: sha256(token) };
  const after: WebhookDoc | null = await platform.db.webhooks.findOneAndUpdate({ _id: id }, { $set: set }, { returnDocument: 'after' });
  return after ? toWebhookWithToken(platform, after, token) : refuse('not_found', { what: 'webhook' });
}

/**
 * Creates a webhook in a text or announcement channel. Needs Manage Webhooks there. Refuses `too_many_webhooks` for the 16th of a channel, and 400 for channels
 * of other kinds.
 */
export async function createWebhook(
  platform: Platform,
  actor: Actor,
  channelId: string,
  { name }: WebhookInput,
  newId: string,
): Promise<NewWebhook> {
  const { serverId } = await requireWebhookChannel(platform, actor, channelId);
  const { db, config } = platform;
  const token = createSecret();
  const newWebhook = {
    _id: newId,
    channelId,
    serverId,
    name: name.trim(),
    token: seal(config.APP_KEY, token),
    tokenHash: sha256(token),
    createdAt: new Date(platform.now()),
    posts: [],
    deliveryPosts: [],
  };
  const inserted = await insertInSlot(db.webhooks, { channelId }, limits.webhooksPerChannel, newWebhook);
  if (inserted.outcome === 'full') return refuse('too_many_webhooks', { limit: limits.webhooksPerChannel });
  // If the channel was deleted at the same moment, the webhook is deleted too.
  if (!(await exists(db.channels, { _id: channelId }))) {
    await db.webhooks.deleteOne({ _id: newId });
    refuse('not_found', { what: 'channel' });
  }
  const changes = diffFields<object>(noAuditFields, toAuditFields(inserted.doc));
  await writeAudit(platform, actor, { id: newId, serverId, action: 'webhook_create', targetId: newId, changes });
  if (inserted.outcome === 'inserted') return toWebhookWithToken(platform, inserted.doc, token);
  // An earlier run made the webhook before a crash. It keeps its token, unless the token cannot be decrypted.
  const stored = unseal(config, inserted.doc.token);
  return stored === null ? replaceToken(platform, newId) : toWebhookWithToken(platform, inserted.doc, stored);
}

/** The webhooks of a channel with their URLs, oldest first. Needs Manage Webhooks there. Refuses 400 for channels that cannot have webhooks. */
export async function listWebhooks(platform: Platform, actor: Actor, channelId: string): Promise<Webhook[]> {
  await requireWebhookChannel(platform, actor, channelId);
  const found: WebhookDoc[] = await platform.db.webhooks.find({ channelId }).toArray();
  return found.toSorted((a, b) => (a._id < b._id ? -1 : 1)).map((one) => toWebhook(platform, one));
}

/**
 * A webhook that the caller may manage. 404 if it does not exist or the caller is not in its server; 403 without View Channel or Manage Webhooks in its
 * channel.
 */
export async function requireManagedWebhook(platform: Platform, actor: Actor, id: string): Promise<WebhookDoc> {
  const found: WebhookDoc | null = isId(id) ? await platform.db.webhooks.findOne({ _id: id }) : null;
  if (!found) return refuse('not_found', { what: 'webhook' });
  try {
    await requireServerChannelOf(platform, actor, found.serverId, found.channelId, 'Manage Webhooks');
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') refuse('not_found', { what: 'webhook' });
    throw error;
  }
  return found;
}

/** One webhook with its URL. Refuses as `requireManagedWebhook`. */
export const getWebhook = async (platform: Platform, actor: Actor, id: string): Promise<Webhook> =>
  toWebhook(platform, await requireManagedWebhook(platform, actor, id));

/** Renames a webhook. Its earlier messages keep the old name, and its URL stays. Refuses as `requireManagedWebhook`. */
export async function renameWebhook(platform: Platform, actor: Actor, id: string, patch: WebhookPatch): Promise<Webhook> {
  const webhook = await requireManagedWebhook(platform, actor, id);
  if (patch.name === undefined) return toWebhook(platform, webhook);
  const set = { name: patch.name.trim() };
  const before: WebhookDoc | null = await platform.db.webhooks.findOneAndUpdate({ _id: id }, { $set: set }, { returnDocument: 'before' });
  if (!before) return refuse('not_found', { what: 'webhook' });
  const changes = diffFields(before, set);
  if (Object.keys(changes).length > 0)
    await writeAudit(platform, actor, { serverId: before.serverId, action: 'webhook_update', targetId: id, changes });
  return toWebhook(platform, { ...before, ...set });
}

/**
 * Gives a webhook a new token, and so a new URL. The old URL stops working. Also possible when the token cannot be decrypted. Refuses as
 * `requireManagedWebhook`.
 */
export async function resetWebhookToken(platform: Platform, actor: Actor, id: string): Promise<NewWebhook> {
  const { serverId } = await requireManagedWebhook(platform, actor, id);
  const reset = await replaceToken(platform, id);
  await writeAudit(platform, actor, { serverId, action: 'webhook_update', targetId: id });
  return reset;
}

/** Deletes a webhook. Its URL stops working, and its messages stay. 404 the second time. Refuses as `requireManagedWebhook`. */
export async function deleteWebhook(platform: EnqueuePlatform, actor: Actor, id: string): Promise<void> {
  const { serverId, ...webhook } = await requireManagedWebhook(platform, actor, id);
  await expireDeliveries(platform, id);
  const { deletedCount } = await platform.db.webhooks.deleteOne({ _id: id });
  if (deletedCount === 0) refuse('not_found', { what: 'webhook' });
  platform.jobs.tryEnqueue('post-deliveries', { webhookId: id }); // the job deletes its waiting deliveries
  const changes = diffFields<object>(toAuditFields(webhook), noAuditFields);
  await writeAudit(platform, actor, { serverId, action: 'webhook_delete', targetId: id, changes });
}

/** Deletes the webhooks of a channel that is gone, and the deliveries that they got from code hosts. */
export async function removeWebhooksOfChannel(platform: Platform, channelId: string): Promise<void> {
  for (const { _id } of await platform.db.webhooks.find({ channelId }, { projection: { _id: 1 } }).toArray()) {
    await deleteDeliveries(platform, _id);
    await platform.db.webhooks.deleteOne({ _id });
  }
}

/** The hash that a token is compared with when no webhook has the id. */
const emptyTokenHash = sha256('');

/**
 * The webhook of this id and token. Every wrong pair is the same 404: an unknown or malformed id, and a wrong token. The token is compared for every id, in
 * constant time (docs/security.md#comparison).
 */
export async function requireWebhookByToken(platform: Platform, id: string, token: string): Promise<WebhookDoc> {
  // Uses the driver directly, which is faster: this runs for every post and delivery.
  const found = isId(id) ? await platform.db.webhooks.findOne({ _id: id }) : null;
  const isRight = isSameSecret(sha256(token), found?.tokenHash ?? emptyTokenHash);
  return found && isRight ? found : refuse('not_found', { what: 'webhook' });
}
