import { Schema } from 'mongoose';

/** Whose storage a file counts towards, and for how much. */
export interface StorageCharge {
  accountId: string;
  /** null for a file of a direct message. */
  serverId: string | null;
  bytes: number;
}

/**
 * A file of one message, or the picture of an account, a server or an application. The document stands before its blob is written and goes after its blob is deleted, so no blob is ever without one. Copies of a
 * message have files of their own that share the blob.
 */
export interface FileDoc {
  /** The attachment's id. */
  _id: string;
  /** 128 random bits: the secret part of its address. */
  key: string;
  /** Its name in the blob store: where its bytes are, or will be once converted. */
  blob: string;
  /** The blob as it was uploaded, while it waits for its conversion. Once it is stored: the blob that it does not need and that is still to be deleted. */
  original?: string;
  /** The message it is, or shall be, attached to. For a picture this and `channelId` are the id of whom it shows. */
  messageId: string;
  channelId: string;
  /** Who uploaded it, or the original of a copy: whose share of the encoder it takes. Absent in files of older versions. */
  accountId?: string;
  /** What its conversion costs, while it waits for that. */
  megapixels?: number;
  /** What it takes of an account's and a server's storage. Copies share their bytes, so one of all files with the same blob has it; pictures never do. */
  charge?: StorageCharge;
  /** An avatar or icon: whom it shows says so, by its address. */
  picture?: true;
  filename: string;
  contentType: string;
  /** The name and declared type of the upload while it waits: what it gets back when it stays as it is. */
  uploadedAs?: { filename: string; contentType: string };
  /** Of the stored file, in bytes. */
  size: number;
  /** In pixels; null for what is no image. */
  width: number | null;
  height: number | null;
  /**
   * `waiting`: for the worker that converts it; until then its address answers 503. `freed`: it no longer holds its blob, which goes, and then the
   * document, unless another file that is not freed holds the same.
   */
  state: 'waiting' | 'stored' | 'freed';
  /** How many workers began to convert it and have not come to an end: each may have ended by it. Absent once it is stored. */
  begun?: number;
  /** Since when its fate is open: its message is being made or deleted. Absent once the message holds it. */
  openAt?: Date;
  createdAt: Date;
}

export const fileSchema = new Schema<FileDoc>(
  {
    _id: String,
    key: String,
    blob: String,
    original: String,
    messageId: String,
    channelId: String,
    accountId: String,
    megapixels: Number,
    charge: Schema.Types.Mixed,
    picture: Boolean,
    filename: String,
    contentType: String,
    uploadedAs: Schema.Types.Mixed,
    size: Number,
    width: Number,
    height: Number,
    state: String,
    begun: Number,
    openAt: Date,
    createdAt: Date,
  },
  { collection: 'files', versionKey: false, minimize: false },
);
fileSchema.index({ key: 1 }, { unique: true });
fileSchema.index({ blob: 1 });
fileSchema.index({ original: 1 }, { partialFilterExpression: { original: { $exists: true } } });
fileSchema.index({ messageId: 1 });
fileSchema.index({ channelId: 1, _id: 1 });
fileSchema.index({ openAt: 1 }, { partialFilterExpression: { openAt: { $exists: true } } });
fileSchema.index({ createdAt: 1 }, { name: 'converting', partialFilterExpression: { original: { $exists: true } } });
