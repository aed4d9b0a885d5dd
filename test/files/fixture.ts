import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Attachment, Message } from '../../lib/contract/message.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import type { Answer, TestApi } from '../harness/api.ts';

/** A file to send. */
export interface Sent {
  name: string;
  bytes: Buffer | string;
  type?: string;
}

/** A message as it is answered, or an error body. */
export type Posted = Message & { code: string; missing?: string[] };

/** A multipart body of these fields and files. */
export function formOf(payload: unknown, files: readonly Sent[], order: 'json first' | 'files first' = 'json first'): FormData {
  const form = new FormData();
  const addJson = (): void => {
    if (payload !== undefined) form.append('payload_json', typeof payload === 'string' ? payload : JSON.stringify(payload));
  };
  if (order === 'json first') addJson();
  for (const { name, bytes, type } of files)
    form.append('files', new Blob([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)], type ? { type } : {}), name);
  if (order === 'files first') addJson();
  return form;
}

/** Sends a body that `fetch` shapes. */
export async function sendBody(
  url: string,
  as: string,
  body: FormData | string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Answer<Posted>> {
  const response = await fetch(url, { method: 'POST', headers: { Authorization: as, ...headers }, body });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Posted };
}

/** A multipart body written by hand; each part with its own headers. */
export function rawBody(
  parts: readonly { head: string; bytes: Buffer | string }[],
  end = '--xyz--\r\n',
): { body: Uint8Array<ArrayBuffer>; headers: Record<string, string> } {
  const pieces = parts.flatMap(({ head, bytes }) => [Buffer.from(`--xyz\r\n${head}\r\n\r\n`), Buffer.from(bytes), Buffer.from('\r\n')]);
  return {
    body: new Uint8Array(Buffer.concat([...pieces, Buffer.from(end)])),
    headers: { 'Content-Type': 'multipart/form-data; boundary=xyz' },
  };
}

const sorted = (names: Iterable<string>): string[] => [...names].sort((a, b) => (a < b ? -1 : 1));

/** What lies in the folder of `api`: the names of blobs, and of files on their way in. */
export async function onDisk({ platform }: TestApi): Promise<{ blobs: string[]; incoming: string[] }> {
  const folder = platform.config.FILES_DIR;
  const list = async (path: string): Promise<string[]> => readdir(path).catch(() => []);
  const shards = await list(join(folder, 'blobs'));
  const blobs = (await Promise.all(shards.map((shard) => list(join(folder, 'blobs', shard))))).flat();
  return { blobs: sorted(blobs), incoming: await list(join(folder, 'incoming')) };
}

/** Every file document. */
export const fileDocs = async ({ platform }: TestApi): Promise<FileDoc[]> => await platform.db.files.find().sort({ _id: 1 }).lean();

/** Expects that blobs and file documents agree, and that each file is held by its message; nothing is on its way in. */
export async function expectNoOrphans(api: TestApi): Promise<void> {
  const docs = await fileDocs(api);
  const { blobs, incoming } = await onDisk(api);
  expect(incoming, 'files on their way in').to.deep.equal([]);
  expect(sorted(new Set(docs.map(({ blob }) => blob))), 'blobs').to.deep.equal(blobs);
  const messages = await api.platform.db.messages.find({}, { attachments: 1 }).lean();
  const held = messages.flatMap(({ attachments }) => attachments.map(({ id }) => id));
  expect(sorted(docs.map(({ _id }) => _id)), 'files of messages').to.deep.equal(sorted(held));
}

/** Gets a file by its address. */
export async function getFile(
  api: TestApi,
  { url }: Pick<Attachment, 'url'>,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer<Buffer>> {
  const response = await fetch(api.url + new URL(url).pathname, { method, headers });
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}
