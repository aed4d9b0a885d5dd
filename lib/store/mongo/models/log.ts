import { Schema } from 'mongoose';

/** The state of the event log that is kept in the database. */
export interface LogDoc {
  _id: 'log';
  /** The number of partitions, fixed at the first start. */
  partitions: number;
  /** By partition, the highest number of an acknowledged event. */
  acknowledged: Record<string, number>;
  /** The id up to which all new messages are in the log, or have a MESSAGE_CREATE in their outbox. Missing until a process of this version has started. */
  announcedTo?: string;
}

export const logSchema = new Schema<LogDoc>({}, { collection: 'log' });
