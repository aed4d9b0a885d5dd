import { Schema } from 'mongoose';

/**
 * The state of a delivery. `waiting`: not posted yet. `posted`: posted as its own message. `merged`: posted together with others. `failed`: it could not be
 * posted. `ignored`: it is of no interest and never waited.
 */
export type DeliveryState = 'waiting' | 'posted' | 'merged' | 'ignored' | 'failed';

/** A delivery of a code host to a webhook. Deliveries are posted in the order of `_id`, which is the order of arrival. */
export interface DeliveryDoc {
  _id: string;
  webhookId: string;
  /** The code host's id of the delivery. It is unique per webhook, so that it is posted once. Absent when it has none, and when it may be sent again. */
  deliveryId?: string;
  /** Whether it posts the connected notice. It is unique per webhook and kept as long as the webhook, so that the notice is posted once. */
  connects?: true;
  event: string;
  action: string | null;
  outcome: DeliveryState;
  /** Why it is not posted as its own message; null when it was, or still may be. */
  reason: string | null;
  /** The data that its message is made from; present only while it waits. */
  facts?: object;
  /** `more`: it is posted as "and N more events", for itself and the deliveries merged into it. `into`: the id of the delivery that this one is merged into. */
  more?: true;
  into?: string;
  /** Its message is being stored, or is stored. Nothing is merged into it any more. */
  begun?: true;
  /** The N of "and N more events", fixed when `begun` is set. */
  count?: number;
  /** The id of its message, set together with the outcome. */
  messageId?: string;
  /** How often the message was refused. */
  tries?: number;
  at: Date;
  /**
   * Set while it waits, and while it is among the last 50 of its webhook that do not wait. Others are deleted or get `expiresAt`, except the connected notice.
   */
  recent?: true;
  expiresAt?: Date;
}

/**
 * The index of deliveries that wait or are listed, in the order of arrival. Queries name it, so that the query planner neither sorts nor reads other
 * deliveries.
 */
export const recentIndex = 'recent';

export const deliverySchema = new Schema<DeliveryDoc>({}, { collection: 'deliveries', shardKey: { webhookId: 'hashed' } });
deliverySchema.index({ webhookId: 1, _id: 1 }, { name: recentIndex, partialFilterExpression: { recent: { $exists: true } } });
deliverySchema.index({ webhookId: 1, deliveryId: 1 }, { unique: true, partialFilterExpression: { deliveryId: { $exists: true } } });
deliverySchema.index({ webhookId: 1, connects: 1 }, { unique: true, partialFilterExpression: { connects: { $exists: true } } });
deliverySchema.index({ at: 1, webhookId: 1 }, { name: 'waiting', partialFilterExpression: { outcome: 'waiting' } });
deliverySchema.index({ into: 1 }, { partialFilterExpression: { into: { $exists: true } } });
deliverySchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
