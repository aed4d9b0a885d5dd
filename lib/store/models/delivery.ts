import { Schema } from 'mongoose';

/** What became of a delivery: `waiting` until it is posted alone, posted together with others, or cannot be posted; `ignored` ones never waited. */
export type DeliveryState = 'waiting' | 'posted' | 'merged' | 'ignored' | 'failed';

/** A delivery of a code host to a webhook. `_id` is the order of arrival, in which they are posted. */
export interface DeliveryDoc {
  _id: string;
  webhookId: string;
  /** How the code host names it: unique in its webhook, so that it posts once. Absent when it has none, and once it may be sent again. */
  deliveryId?: string;
  /** It posts the connected notice: unique in its webhook, and kept as long as that, so that there is one. */
  connects?: true;
  event: string;
  action: string | null;
  outcome: DeliveryState;
  /** Why it was not posted by itself; null when it was, and while it waits. */
  reason: string | null;
  /** What is needed to post it; only while it waits. */
  facts?: object;
  /** It is posted as "and N more events", with those that were merged `into` it. */
  more?: true;
  into?: string;
  /** Its message is being stored or is stored: nothing is merged into it from then on. */
  begun?: true;
  /** That N, fixed then. */
  count?: number;
  /** The message that it is, once its outcome is noted. */
  messageId?: string;
  /** How often the message was refused. */
  tries?: number;
  at: Date;
  /** It waits, or stands among the last of its webhook that do not: what is not recent has an end. */
  recent?: true;
  expiresAt?: Date;
}

/** The index of what waits or is listed, in the order of arrival. Named in queries, so that no planner sorts or reads what is neither. */
export const recentIndex = 'recent';

export const deliverySchema = new Schema<DeliveryDoc>(
  {
    _id: String,
    webhookId: String,
    deliveryId: String,
    connects: Boolean,
    event: String,
    action: String,
    outcome: String,
    reason: String,
    facts: Schema.Types.Mixed,
    more: Boolean,
    into: String,
    begun: Boolean,
    count: Number,
    messageId: String,
    tries: Number,
    at: Date,
    recent: Boolean,
    expiresAt: Date,
  },
  { collection: 'deliveries', versionKey: false, minimize: false },
);
deliverySchema.index({ webhookId: 1, _id: 1 }, { name: recentIndex, partialFilterExpression: { recent: { $exists: true } } });
deliverySchema.index({ webhookId: 1, deliveryId: 1 }, { unique: true, partialFilterExpression: { deliveryId: { $exists: true } } });
deliverySchema.index({ webhookId: 1, connects: 1 }, { unique: true, partialFilterExpression: { connects: { $exists: true } } });
deliverySchema.index({ at: 1, webhookId: 1 }, { name: 'waiting', partialFilterExpression: { outcome: 'waiting' } });
deliverySchema.index({ into: 1 }, { partialFilterExpression: { into: { $exists: true } } });
deliverySchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
