import type { Readable } from 'node:stream';

/** A part of a blob: its first and last byte, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A blob being read. Whoever does not read it to its end destroys the stream. */
export interface OpenBlob {
  stream: Readable;
  /** Bytes that the stream gives. */
  size: number;
}

/**
 * Where the bytes of files are kept: a folder, or an S3-compatible store. Names are of `a-z`, `0-9` and `-`, 1 to 64 of them; another one is a fault of ours
 * and throws. When the store cannot be reached or is full a call rejects with an error named `BlobsUnavailable` (503).
 */
export interface Blobs {
  /** A path for a new local file, in a folder that is there; the file itself is not. */
  tempPath(): Promise<string>;
  /** Keeps the local file at `path` under `name`, in place of what was there. Durable when it resolves; the local file is gone, also when it rejects. */
  put(name: string, path: string, contentType?: string): Promise<void>;
  /** Opens a blob, or a part of it that lies within; null when there is none. */
  open(name: string, range?: ByteRange): Promise<OpenBlob | null>;
  /** Copies a blob to a new local file; null when there is none. The caller deletes the file. */
  fetch(name: string): Promise<string | null>;
  /** Deletes a blob; one that is not there is fine. */
  delete(name: string): Promise<void>;
  /** Deletes local files that nobody wrote to for `ms` milliseconds: those of processes that died. */
  sweepTemp(ms: number): Promise<void>;
  close(): void;
}
