import { Schema } from 'mongoose';

/** What the database keeps of the log of events. */
export interface LogDoc {
  _id: 'log';
  /** The number of partitions, fixed at the first start. */
  partitions: number;
  /** By partition, the highest number of an event that was acknowledged. */
  acknowledged: Record<string, number>;
}

export const logSchema = new Schema<LogDoc>(
  { _id: String, partitions: Number, acknowledged: Object },
  { collection: 'log', versionKey: false },
);
