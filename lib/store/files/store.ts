import type { Readable } from 'node:stream';

/** A part of a blob: the offsets of its first and last byte, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A blob that is open for reading. A caller that does not read it to the end must destroy the stream. */
export interface OpenBlob {
  stream: Readable;
  /** The number of bytes in the stream. */
  size: number;
}

/**
 * The store for the bytes of files: a folder or an S3-compatible store. Names are 1 to 64 characters of `a-z`, `0-9` and `-`; any other name is a bug of the
 * caller and throws. When the store cannot be reached or is full, a call rejects with `BlobsUnavailable` (503).
 */
export interface Blobs {
  /** Returns a path for a new local file. The folder exists, the file does not. */
  newTempPath(): Promise<string>;
  /**
   * Stores the local file at `path` as the blob `name`, and replaces an existing one. The blob is durable when this resolves. The local file is deleted, even
   * when this rejects.
   */
  put(name: string, path: string, contentType?: string): Promise<void>;
  /** Opens a blob, or the part `range` of it, which must lie within the blob; null when there is none. */
  open(name: string, range?: ByteRange): Promise<OpenBlob | null>;
  /** Copies a blob to a new local file and returns its path; null when there is none. The caller deletes the file. */
  fetch(name: string): Promise<string | null>;
  /** Deletes a blob; does nothing when there is none. */
  delete(name: string): Promise<void>;
  /** Whether there is no blob. */
  isEmpty(): Promise<boolean>;
  /** Deletes local files that were not written to for `minAgeMs` milliseconds, because their process died. */
  removeOldTemp(minAgeMs: number): Promise<void>;
  close(): void;
}
