import { Schema } from 'mongoose';

/** Data about the installation. The document `app-key` has the ids of the keys under which secrets in the database may be encrypted. */
export interface MetaDoc {
  _id: 'app-key';
  keys: string[];
}

export const metaSchema = new Schema<MetaDoc>({}, { collection: 'meta' });

/** A migration that has run; `_id` is its name. */
export interface MigrationDoc {
  _id: string;
  doneAt: Date;
}

export const migrationSchema = new Schema<MigrationDoc>({}, { collection: 'migrations' });
