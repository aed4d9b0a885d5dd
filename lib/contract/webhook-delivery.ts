import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { IdOf, Nullable, Timestamp } from './shared.ts';

/** `POST /api/webhooks/{webhook_id}/{webhook_token}/codehost` if the delivery will be posted (docs/behavior/webhooks.md#delivery-requests). */
export const WebhookDeliveryAccepted = ObjectOf(
  { accepted: Type.Literal(true, { description: 'Always true: the delivery will be posted.' }) },
  'A delivery that will be posted.',
);
export type WebhookDeliveryAccepted = Static<typeof WebhookDeliveryAccepted>;

/**
 * The outcome of a delivery of a code host. `posted`: as a message of its own. `merged`: in one message with other deliveries. `ignored`: not posted, because
 * its kind never is. `failed`: not posted because of an error.
 */
export const WebhookDeliveryOutcome = Choice(['posted', 'merged', 'ignored', 'failed'], {
  description:
    'The outcome of a delivery. `posted`: as a message of its own. `merged`: in one message with others. `ignored`: its kind is never posted. `failed`: not posted because of an error.',
});
export type WebhookDeliveryOutcome = Static<typeof WebhookDeliveryOutcome>;

/** One delivery of a code host (docs/behavior/webhooks.md#delivery-log). `at` is its arrival. `reason` says why it is not `posted`, or is null. */
export const WebhookDelivery = ObjectOf(
  {
    id: IdOf('other', 'The id of the entry.'),
    at: Described(Timestamp, 'When the delivery arrived.'),
    event: Type.String({ description: 'The event that the code host named, cut at 64 characters.', examples: ['pull_request'] }),
    action: Described(Nullable(Type.String()), 'The action within the event; null if the delivery has none.', 'opened'),
    outcome: WebhookDeliveryOutcome,
    reason: Described(Nullable(Type.String()), 'Why it was not posted by itself, in words; null if it was.', 'The channel is gone.'),
  },
  'A delivery of a code host.',
  { reason: null },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

/** `GET /api/webhooks/{id}/deliveries`: newest first. */
export const WebhookDeliveryPage = ObjectOf(
  {
    items: Type.Array(WebhookDelivery, {
      maxItems: limits.webhookDeliveriesListed,
      description: `The last ${limits.webhookDeliveriesListed} deliveries, newest first.`,
    }),
    hasMore: Type.Boolean({ description: 'Always false: older deliveries are not listed.' }),
  },
  'The delivery log of a webhook.',
);
export type WebhookDeliveryPage = Static<typeof WebhookDeliveryPage>;
