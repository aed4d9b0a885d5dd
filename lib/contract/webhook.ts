import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { MessageInput } from './message.ts';
import { Id, Name, Nullable, Timestamp } from './shared.ts';

/**
 * A webhook (docs/behavior/webhooks.md#managing-webhooks). `url` and `token` are secret: whoever has them can post. Both are null if the token can no
 * longer be decrypted because the server's key was replaced. A new token can then be created.
 */
export const Webhook = Type.Object({
  id: Id,
  channelId: Id,
  serverId: Id,
  name: Type.String(),
  token: Nullable(Type.String()),
  url: Nullable(Type.String()),
  createdAt: Timestamp,
});
export type Webhook = Static<typeof Webhook>;

/** A webhook whose token was created by this request. */
export const NewWebhook = Type.Object({ ...Webhook.properties, token: Type.String(), url: Type.String() });
export type NewWebhook = Static<typeof NewWebhook>;

/** `POST /api/channels/{channelId}/webhooks`. */
export const WebhookInput = Type.Object({ name: Name(limits.webhookNameChars) });
export type WebhookInput = Static<typeof WebhookInput>;

/** `PATCH /api/webhooks/{id}`. Omitted fields do not change. */
export const WebhookPatch = Type.Object({ name: Type.Optional(Name(limits.webhookNameChars)) });
export type WebhookPatch = Static<typeof WebhookPatch>;

/** `POST /api/webhooks/{webhook_id}/{webhook_token}`. Other fields that services send (`username`, `avatar_url`) are ignored. */
export const WebhookPost = Type.Object({ content: MessageInput.properties.content, embeds: MessageInput.properties.embeds });
export type WebhookPost = Static<typeof WebhookPost>;
