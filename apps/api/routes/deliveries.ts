import { limits } from '../../../lib/base/limits.ts';
import { WebhookDeliveryAccepted, WebhookDeliveryPage } from '../../../lib/contract/webhook-delivery.ts';
import { acceptDelivery, listWebhookDeliveries } from '../../../lib/domain/webhooks/deliveries.ts';
import { requireWebhookByToken } from '../../../lib/domain/webhooks/webhooks.ts';
import { delivery } from '../bodies/delivery.ts';
import { Reply, type Route, route } from '../route.ts';

/** The routes of deliveries of code hosts (docs/behavior/webhooks.md#code-hosts) and their log (docs/behavior/webhooks.md#delivery-log). */
export const deliveriesRoutes: readonly Route[] = [
  route({
    operationId: 'deliverCodeHostEvent',
    tag: 'Webhooks',
    method: 'POST',
    path: '/api/webhooks/{webhookId}/{webhookToken}/codehost',
    auth: 'none',
    rateLimit: 'none',
    summary:
      'Receives a webhook delivery of GitHub, Gitea, Forgejo or Gogs. The event is named by a header (such as `X-GitHub-Event`). A worker posts the messages in order, within the rate limit of the webhook.',
    body: delivery(),
    checkPath: (platform, params) => requireWebhookByToken(platform, params.webhookId, params.webhookToken),
    reply: {
      status: 202,
      body: WebhookDeliveryAccepted,
      alternative: {
        status: 204,
        description: 'Accepted, but nothing is posted: the event or action is not supported, or the delivery is a repeat.',
      },
    },
    usesClockId: true,
    errors: ['invalid_request', 'not_found', 'payload_too_large', 'unsupported_media_type', 'unavailable'],
    run: async (platform, _actor, { params, body, newId }) =>
      (await acceptDelivery(platform, params.webhookId, body, newId)) ? { accepted: true as const } : new Reply(undefined, { status: 204 }),
  }),
  route({
    operationId: 'listWebhookDeliveries',
    tag: 'Webhooks',
    method: 'GET',
    path: '/api/webhooks/{webhookId}/deliveries',
    auth: 'account',
    summary: `Lists the last ${limits.webhookDeliveriesListed} code host deliveries to a webhook, newest first, without those that are not posted yet. Needs Manage Webhooks in its channel.`,
    reply: { status: 200, body: WebhookDeliveryPage },
    errors: ['missing_permission', 'not_found'],
    run: (platform, actor, { params }) => listWebhookDeliveries(platform, actor, params.webhookId),
  }),
];
