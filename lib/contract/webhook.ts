import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { MessageInput } from './message.ts';
import { Described, ObjectOf } from './schemas.ts';
import { IdOf, Name, Nullable, Timestamp } from './shared.ts';

const token = Type.String({
  description: 'The token of the webhook. It is secret: who has it can post.',
  examples: ['q83vEjRWeJq8dFZ4mrzeAAECAwQFBgcICQoLDA0ODw8'],
});
const url = Type.String({
  description: 'The address to post to. It contains the token, so it is secret.',
  examples: ['http://localhost:8080/api/webhooks/1431655765432100910/q83vEjRWeJq8dFZ4mrzeAAECAwQFBgcICQoLDA0ODw8'],
});
const name = Described(
  Name(limits.webhookNameChars),
  `The name that its messages show: one line of 1 to ${limits.webhookNameChars} characters.`,
  'Build server',
);

/**
 * A webhook (docs/behavior/webhooks.md#managing-webhooks). `url` and `token` are secret: whoever has them can post. Both are null if the token can no
 * longer be decrypted because the server's key was replaced. A new token can then be created.
 */
export const Webhook = ObjectOf(
  {
    id: IdOf('webhook', 'The id of the webhook. It is the author id of its messages.'),
    channelId: IdOf('channel', 'The channel that it posts to.'),
    serverId: IdOf('server', 'The server of the channel.'),
    name: Type.String({ description: 'The name that its messages show.', examples: ['Build server'] }),
    token: Nullable(token, 'The token of the webhook, which is secret; null if it can no longer be decrypted and must be reset.'),
    url: Nullable(url, 'The address to post to, which is secret; null if the token can no longer be decrypted and must be reset.'),
    createdAt: Described(Timestamp, 'When it was created.'),
  },
  'A webhook: a secret address that posts to a channel.',
);
export type Webhook = Static<typeof Webhook>;

/** A webhook whose token was created by this request. */
export const NewWebhook = ObjectOf({ ...Webhook.properties, token, url }, 'A webhook whose token was created by this request.');
export type NewWebhook = Static<typeof NewWebhook>;

/** `POST /api/channels/{channelId}/webhooks`. */
export const WebhookInput = ObjectOf({ name }, 'Creates a webhook in a channel.');
export type WebhookInput = Static<typeof WebhookInput>;

/** `PATCH /api/webhooks/{id}`. Omitted fields do not change. */
export const WebhookPatch = ObjectOf({ name: Type.Optional(name) }, 'A change of a webhook. Omitted fields do not change.');
export type WebhookPatch = Static<typeof WebhookPatch>;

/** `POST /api/webhooks/{webhook_id}/{webhook_token}`. Other fields that services send (`username`, `avatar_url`) are ignored. */
export const WebhookPost = ObjectOf(
  { content: MessageInput.properties.content, embeds: MessageInput.properties.embeds },
  'A message of a webhook. It needs a text or an embed that shows something.',
);
export type WebhookPost = Static<typeof WebhookPost>;
