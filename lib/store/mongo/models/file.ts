import { Schema } from 'mongoose';

/** The account and server whose storage a file counts towards, and the number of bytes. */
export interface StorageCharge {
  accountId: string;
  /** null for a file of a direct message. */
  serverId: string | null;
  bytes: number;
}

/**
 * A file of one message, or the picture of an account, server or application. The document is stored before its blob is written and deleted after its blob, so
 * no blob is ever without a document. Copies of a message have their own files, which share the blob.
 */
export interface FileDoc {
  /** The attachment's id. */
  _id: string;
  /** 128 random bits: the secret part of its URL. */
  key: string;
  /** The name of its blob, which has its bytes, or will have them after the conversion. */
  blob: string;
  /** While it waits for its conversion: the uploaded blob. Once it is stored: the blob that it does not need and that still has to be deleted. */
  original?: string;
  /** The message that it is, or will be, attached to. For a picture, this and `channelId` are the id of the account, server or application. */
  messageId: string;
  channelId: string;
  /** The account that uploaded it, or for a copy its original. Its conversion uses that account's share of the encoder. Absent in files of older versions. */
  accountId?: string;
  /** The cost of its conversion, while it waits for that. */
  megapixels?: number;
  /** The storage that it uses of an account and a server. Only one of the files that share a blob has it, and pictures never do. */
  charge?: StorageCharge;
  /** Set for an avatar or icon. The account, server or application refers to it by its URL. */
  picture?: true;
  filename: string;
  contentType: string;
  /** The name and declared type of the upload, while it waits. They are restored if the conversion leaves the file as it is. */
  uploadedAs?: { filename: string; contentType: string };
  /** The size of the stored file, in bytes. */
  size: number;
  /** In pixels; null if it is not an image. */
  width: number | null;
  height: number | null;
  /**
   * `waiting`: it waits for its conversion by a worker; until then its URL answers 503. `freed`: it no longer holds its blob. The blob is then deleted unless
   * another file holds it, and after it this document.
   */
  state: 'waiting' | 'stored' | 'freed';
  /** How many workers have begun to convert it and not finished; the file may have crashed them. Absent once it is stored. */
  begun?: number;
  /** Since when it is undecided whether the file stays, because its message is being created or deleted. Absent once the message has it. */
  openAt?: Date;
  createdAt: Date;
}

export const fileSchema = new Schema<FileDoc>({}, { collection: 'files', shardKey: { key: 'hashed' } });
fileSchema.index({ key: 1 }, { unique: true });
fileSchema.index({ blob: 1 });
fileSchema.index({ original: 1 }, { partialFilterExpression: { original: { $exists: true } } });
fileSchema.index({ messageId: 1 });
fileSchema.index({ channelId: 1, _id: 1 });
fileSchema.index({ openAt: 1 }, { partialFilterExpression: { openAt: { $exists: true } } });
fileSchema.index({ createdAt: 1 }, { name: 'converting', partialFilterExpression: { original: { $exists: true } } });
