import { findBuiltin } from './platform.ts';

/** A file to upload: a `File`, a `Blob`, or bytes or text with a name. */
export type FileInput = Blob | { name: string; data: Blob | Uint8Array | ArrayBuffer | string; type?: string };

const hasName = (blob: Blob): blob is Blob & { name: string } => typeof (blob as { name?: unknown }).name === 'string';

function toBlob(data: Blob | Uint8Array | ArrayBuffer | string, type: string | undefined): Blob {
  if (data instanceof Blob && type === undefined) return data;
  return new Blob([data], { type: type ?? '' });
}

/** A multipart form with the JSON of a message and its files. */
export function toForm(body: unknown, files: readonly FileInput[]): FormData {
  const form = new FormData();
  form.append('payload_json', JSON.stringify(body ?? {}));
  for (const [at, file] of files.entries()) {
    if (!(file instanceof Blob)) form.append('files', toBlob(file.data, file.type), file.name);
    else form.append('files', file, hasName(file) ? file.name : `file-${at + 1}`);
  }
  return form;
}

/**
 * Opens a file on disk for an upload, without reading it into memory. Only in Node. `name` defaults to the last part of the path. The API determines the type
 * from the content.
 */
export async function openFile(path: string, name?: string): Promise<FileInput> {
  const files = findBuiltin('node:fs');
  if (!files) throw new Error('openFile needs Node 20.16 or a later 20, or Node 22.3 or later. Elsewhere pass a Blob or File.');
  return { name: name ?? path.replace(/^.*[\\/]/, ''), data: await files.openAsBlob(path) };
}
