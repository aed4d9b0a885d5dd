import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Id, Nullable, Timestamp } from './shared.ts';

/** `POST /api/webhooks/{webhook_id}/{webhook_token}/codehost` if the delivery will be posted (docs/behavior/webhooks.md#delivery-requests). */
export const WebhookDeliveryAccepted = Type.Object({ accepted: Type.Literal(true) });
export type WebhookDeliveryAccepted = Static<typeof WebhookDeliveryAccepted>;

/**
 * The outcome of a delivery of a code host. `posted`: as a message of its own. `merged`: in one message with other deliveries. `ignored`: not posted, because
 * its kind never is. `failed`: not posted because of an error.
 */
export const WebhookDeliveryOutcome = Choice(['posted', 'merged', 'ignored', 'failed']);
export type WebhookDeliveryOutcome = Static<typeof WebhookDeliveryOutcome>;

/** One delivery of a code host (docs/behavior/webhooks.md#delivery-log). `at` is its arrival. `reason` says why it is not `posted`, or is null. */
export const WebhookDelivery = Type.Object({
  id: Id,
  at: Timestamp,
  event: Type.String(),
  action: Nullable(Type.String()),
  outcome: WebhookDeliveryOutcome,
  reason: Nullable(Type.String()),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;

/** `GET /api/webhooks/{id}/deliveries`: newest first. */
export const WebhookDeliveryPage = Type.Object({
  items: Type.Array(WebhookDelivery, { maxItems: limits.webhookDeliveriesListed }),
  hasMore: Type.Boolean(),
});
export type WebhookDeliveryPage = Static<typeof WebhookDeliveryPage>;
