import { Schema } from 'mongoose';

/** What an installation notes about itself. `_id` is `app-key`: the ids of the keys under which the database may hold secrets. */
export interface MetaDoc {
  _id: 'app-key';
  keys: string[];
}

export const metaSchema = new Schema<MetaDoc>({ _id: String, keys: [String] }, { collection: 'meta', versionKey: false });
