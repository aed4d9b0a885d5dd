import { Schema } from 'mongoose';

/**
 * The export of an account's data: an archive in the blob store, in parts. The document names every part before it is stored, and is deleted after all of them,
 * so no part is ever without a document.
 */
export interface ExportDoc {
  _id: string;
  /** Unique: an account has one export at a time. */
  accountId: string;
  /** 128 random bits in hex. The names of the parts begin with it. */
  key: string;
  /** `deleted`: it is no longer shown. The document stays until no worker can still store a part, and as long as it puts off a new export. */
  state: 'waiting' | 'running' | 'ready' | 'failed' | 'deleted';
  /** How many workers have begun to write it. The number of an attempt is its claim: a worker whose attempt is not the last one writes nothing more. */
  attempts: number;
  /** By attempt, how many parts of it may be stored. */
  parts: number[];
  /** The size of the archive, once it is ready. */
  bytes: number | null;
  /** Set once the person was told that it is ready. */
  announced?: true;
  createdAt: Date;
  /** From when on the account can request another one. */
  nextAt: Date;
  /** When it is deleted, once it is ready. */
  expiresAt: Date | null;
  /** When the sweep looks at it: the job may be lost, the worker may have died, or something has to be announced or deleted. */
  dueAt: Date;
  /** Until when the document of a deleted export stays. */
  keepUntil?: Date;
}

export const exportSchema = new Schema<ExportDoc>({}, { collection: 'exports' });
exportSchema.index({ accountId: 1 }, { unique: true });
exportSchema.index({ dueAt: 1 });
