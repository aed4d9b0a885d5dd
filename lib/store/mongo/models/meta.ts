import { Schema } from 'mongoose';

/**
 * Data about the installation. The document `app-key` has the ids of the keys under which secrets in the database may be encrypted. The documents `backup` and
 * `restore` have other fields (`lib/store/mongo/backup-lease.ts`, `lib/store/mongo/restore-mark.ts`).
 */
export interface MetaDoc {
  _id: 'app-key';
  keys: string[];
}

export const metaSchema = new Schema<MetaDoc>({}, { collection: 'meta' });

/**
 * A migration that has begun; `_id` is its name. The document `schema` has the other fields: which indexes exist, and which process migrates now
 * (docs/store.md#migrations).
 */
export interface MigrationDoc {
  _id: string;
  /** The migration that a process must know to run beside this one. */
  requires?: string;
  /** Everything up to this position is done. Absent before the first batch and after the last. */
  position?: string;
  doneAt?: Date;
  /** The indexes that were created, as text (`neededIndexTexts`). */
  indexes?: string[];
  /** The process that migrates, and until when it may; absent when none does. */
  holder?: string;
  expiresAt?: Date;
}

export const migrationSchema = new Schema<MigrationDoc>({}, { collection: 'migrations' });
