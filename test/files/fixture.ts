// These tests cover files of messages: uploads, serving, storage in a folder or on S3, limits, copies and deletion.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Attachment, Message } from '../../lib/contract/message.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import { type MessagesFixture, useMessages } from '../api/messages/message-fixture.ts';
import type { Answer, TestApi } from '../harness/api.ts';

/** A file to send. */
export interface Sent {
  name: string;
  bytes: Buffer | string;
  type?: string;
}

/** The body of a response: a message or an error. */
export type Posted = Message & { code: string; missing?: string[] };

/** Builds a multipart body with `payload` as payload_json and these files. */
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

/** Sends a body with a POST request. */
export async function sendBody(
  url: string,
  as: string,
  body: FormData | string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Answer<Posted>> {
  const response = await fetch(url, { method: 'POST', headers: { Authorization: as, ...headers }, body });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Posted };
}

/** A server with a bot that uploads files to its first channel. */
export interface UploadsFixture extends MessagesFixture {
  /** Sends a body to the channel's messages. */
  upload(body: FormData | Uint8Array<ArrayBuffer> | string, headers?: Record<string, string>): Promise<Answer<Posted>>;
  /** Posts a message with these files; expects 201. */
  postFiles(files: readonly Sent[], payload?: object): Promise<Posted>;
}

/** Starts an API with such a server. */
export function useUploads(): UploadsFixture {
  const fixture = useMessages();
  const { api, bot, path } = fixture;
  const upload: UploadsFixture['upload'] = (body, headers) => sendBody(api.url + path(), bot.as, body, headers);
  return {
    ...fixture,
    upload,
    async postFiles(files, payload = {}) {
      const { status, body } = await upload(formOf(payload, files));
      expect(status, JSON.stringify(body)).to.equal(201);
      return body;
    },
  };
}

/** Builds the bytes of a multipart body whose parts have these headers. */
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

/** The names of the stored blobs and of the files being received, in FILES_DIR of `api`. */
export async function onDisk({ platform }: TestApi): Promise<{ blobs: string[]; incoming: string[] }> {
  const folder = platform.config.FILES_DIR;
  const list = async (path: string): Promise<string[]> => readdir(path).catch(() => []);
  const shards = await list(join(folder, 'blobs'));
  const blobs = (await Promise.all(shards.map((shard) => list(join(folder, 'blobs', shard))))).flat();
  return { blobs: sorted(blobs), incoming: await list(join(folder, 'incoming')) };
}

/** All file documents. */
export const fileDocs = async ({ platform }: TestApi): Promise<FileDoc[]> => await platform.db.files.find().sort({ _id: 1 }).toArray();

/** Runs `act`, and expects that it changes no file document, no blob and no file being received. */
export async function expectSameFiles(api: TestApi, act: () => Promise<unknown>): Promise<void> {
  const before = [await fileDocs(api), await onDisk(api)];
  await act();
  expect([await fileDocs(api), await onDisk(api)]).to.deep.equal(before);
}

/** Makes undecided files, or all files of a message, undecided for 16 minutes, so that the sweep decides about them. */
export async function ageFiles({ platform }: TestApi, messageId?: string): Promise<void> {
  const filter = messageId === undefined ? { openAt: { $exists: true } } : { messageId };
  await platform.db.files.updateMany(filter, { $set: { openAt: new Date(Date.now() - 16 * 60_000) } });
}

/** Expects that every file document has a blob and a message that lists it, that no other blob exists, and that no file is being received. */
export async function expectNoOrphans(api: TestApi): Promise<void> {
  const docs = await fileDocs(api);
  const { blobs, incoming } = await onDisk(api);
  expect(incoming, 'files being received').to.deep.equal([]);
  expect(sorted(new Set(docs.map(({ blob }) => blob))), 'blobs').to.deep.equal(blobs);
  const messages = await api.platform.db.messages.find({}, { projection: { attachments: 1 } }).toArray();
  const attached = messages.flatMap(({ attachments }) => attachments.map(({ id }) => id));
  expect(sorted(docs.map(({ _id }) => _id)), 'files of messages').to.deep.equal(sorted(attached));
}

/** Requests a file by its URL. */
export async function getFile(
  api: TestApi,
  { url }: Pick<Attachment, 'url'>,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer<Buffer>> {
  const response = await fetch(api.url + new URL(url).pathname, { method, headers });
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}
