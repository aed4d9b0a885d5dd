import { limits } from '../../../lib/base/limits.ts';
import { Message } from '../../../lib/contract/message.ts';
import { NewWebhook, Webhook, WebhookInput, WebhookPatch, WebhookPost } from '../../../lib/contract/webhook.ts';
import { findServerIdOfWebhook } from '../../../lib/domain/members/management-writes.ts';
import { postByWebhook } from '../../../lib/domain/webhooks/webhook-posts.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  renameWebhook,
  requireWebhookByToken,
  resetWebhookToken,
} from '../../../lib/domain/webhooks/webhooks.ts';
import { List, type Route, route } from '../route.ts';

/** The routes of webhooks (docs/behavior/webhooks.md#managing-webhooks). A webhook's URL is the only credential for posting with it. */
export const webhooksRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/channels/{channelId}/webhooks',
    auth: 'account',
    manages: true,
    summary: `Creates a webhook in a text or announcement channel, up to ${limits.webhooksPerChannel} in each. Needs Manage Webhooks. Its URL is secret.`,
    body: WebhookInput,
    reply: { status: 201, body: NewWebhook },
    creates: 'secret',
    errors: ['invalid_request', 'too_many_webhooks', 'missing_permission', 'not_found', 'idempotency_conflict'],
    run: (platform, actor, { params, body, newId }) => createWebhook(platform, actor, params.channelId, body, newId),
  }),
  route({
    method: 'GET',
    path: '/api/channels/{channelId}/webhooks',
    auth: 'account',
    summary: 'Lists the webhooks of a channel with their URLs, oldest first. Needs Manage Webhooks.',
    reply: { status: 200, body: List(Webhook, 'webhooksPerChannel') },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => listWebhooks(platform, actor, params.channelId),
  }),
  route({
    method: 'GET',
    path: '/api/webhooks/{id}',
    auth: 'account',
    summary: 'Returns a webhook with its URL. Needs Manage Webhooks in its channel.',
    reply: { status: 200, body: Webhook },
    errors: ['missing_permission', 'not_found'],
    run: (platform, actor, { params }) => getWebhook(platform, actor, params.id),
  }),
  route({
    method: 'PATCH',
    path: '/api/webhooks/{id}',
    auth: 'account',
    manages: (platform, { id }) => findServerIdOfWebhook(platform, id),
    summary: 'Renames a webhook. Its URL and its old messages do not change. Needs Manage Webhooks in its channel.',
    body: WebhookPatch,
    reply: { status: 200, body: Webhook },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params, body }) => renameWebhook(platform, actor, params.id, body),
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/{id}/token',
    auth: 'account',
    manages: (platform, { id }) => findServerIdOfWebhook(platform, id),
    summary: 'Resets a webhook’s token and URL. The old URL stops working at once. Needs Manage Webhooks in its channel.',
    reply: { status: 200, body: NewWebhook },
    errors: ['missing_permission', 'not_found'],
    run: (platform, actor, { params }) => resetWebhookToken(platform, actor, params.id),
  }),
  route({
    method: 'DELETE',
    path: '/api/webhooks/{id}',
    auth: 'account',
    manages: (platform, { id }) => findServerIdOfWebhook(platform, id),
    summary: 'Deletes a webhook. Its URL stops working. Needs Manage Webhooks in its channel.',
    reply: { status: 204 },
    errors: ['missing_permission', 'not_found'],
    run: (platform, actor, { params }) => deleteWebhook(platform, actor, params.id),
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/{webhook_id}/{webhook_token}',
    auth: 'none',
    rateLimit: 'none',
    checkPath: (platform, params) => requireWebhookByToken(platform, params.webhook_id, params.webhook_token),
    summary: `Posts a message to the webhook’s channel under the webhook’s name, with the tag \`bot\`. Limit: ${limits.webhookPosts} posts in any ${limits.webhookWindowMs / 1000} seconds.`,
    body: WebhookPost,
    reply: { status: 201, body: Message },
    creates: 'resource',
    errors: ['invalid_request', 'not_found', 'rate_limited', 'idempotency_conflict', 'unavailable'],
    run: (platform, _actor, { params, body, newId: id, isRepeatable, setRateHeaders }) => {
      return postByWebhook(platform, {
        id: params.webhook_id,
        token: params.webhook_token,
        input: body,
        create: { id, isRepeatable },
        setRateHeaders: setRateHeaders.bind(null, 'webhook'),
      });
    },
  }),
];
