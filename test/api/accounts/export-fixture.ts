import { writeFile } from 'node:fs/promises';
import AdmZip from 'adm-zip';
import { expect } from 'chai';
import type { Export } from '../../../lib/contract/auth.ts';
import { runExport } from '../../../lib/domain/exports/work.ts';
import type { ExportDoc } from '../../../lib/store/mongo/models/export.ts';
import type { WorkerPlatform } from '../../../lib/store/platform.ts';
import { formOf, onDisk, type Posted, type Sent, sendBody } from '../../files/fixture.ts';
import type { TestApi } from '../../harness/api.ts';
import { password } from '../../harness/factories.ts';
import { type Caller, send } from '../../harness/requests.ts';

/** The path of a person's export. */
export const exportPath = '/api/users/@me/export';

/** An API with a worker that runs no queue. */
export type ExportApi = TestApi & { worker: WorkerPlatform };

/** Requests an export. */
export const requestExport = (api: TestApi, person: Caller): Promise<Export> =>
  send<Export>(api, 202, person, 'POST', exportPath, { password });

/** Requests an export and lets the worker make it; expects that it is ready then. */
export async function makeExport(api: ExportApi, person: Caller): Promise<Export> {
  const { id } = await requestExport(api, person);
  await runExport(api.worker, id);
  const made = await send<Export>(api, 200, person, 'GET', exportPath);
  expect(made).to.include({ id, state: 'ready' });
  return made;
}

/** Downloads an export. */
export async function downloadExport(
  api: TestApi,
  { as }: Caller,
  method = 'GET',
): Promise<{ status: number; headers: Headers; body: Buffer }> {
  const response = await fetch(`${api.url}${exportPath}/file`, { method, headers: { Authorization: as } });
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}

/** The files of an archive by their names. Expects that all checksums are right. */
export function readArchive(body: Buffer): Map<string, Buffer> {
  const zip = new AdmZip(body);
  expect(zip.test(), 'the checksums of the archive').to.equal(true);
  return new Map(zip.getEntries().map((entry) => [entry.entryName, entry.getData()]));
}

/** The content of a file in JSON. */
export const jsonOf = <T>(files: ReadonlyMap<string, Buffer>, name: string): T => JSON.parse(String(files.get(name))) as T;

/** The export of a person as it is stored; null when there is none. */
export const exportDoc = (api: TestApi, { id: accountId }: Caller): Promise<ExportDoc | null> =>
  api.platform.db.exports.findOne({ accountId });

/** Lets the time that a person's export waits for have passed. */
export async function makeDue(api: TestApi, { id: accountId }: Caller, set: Partial<ExportDoc> = {}): Promise<void> {
  await api.platform.db.exports.updateOne({ accountId }, { $set: { dueAt: new Date(1_000), ...set } });
}

/** The blobs that are parts of exports. */
export const exportBlobs = async (api: TestApi): Promise<string[]> => (await onDisk(api)).blobs.filter((name) => name.includes('-'));

/** Posts a message with files as a person. */
export async function postFiles(api: TestApi, { as }: Caller, channelId: string, content: string, files: readonly Sent[]): Promise<Posted> {
  const { status, body } = await sendBody(`${api.url}/api/channels/${channelId}/messages`, as, formOf({ content }, files));
  expect(status, JSON.stringify(body)).to.equal(201);
  return body;
}

/** Gives a person an avatar with these bytes, as if a worker had converted it. */
export async function giveAvatar({ platform }: TestApi, { id }: Caller, bytes: Buffer): Promise<void> {
  const [key, blob] = ['a'.repeat(32), 'b'.repeat(32)];
  const path = await platform.blobs.newTempPath();
  await writeFile(path, bytes);
  await platform.blobs.put(blob, path);
  const common = { messageId: id, channelId: id, accountId: id, picture: true as const, width: 1, height: 1, state: 'stored' as const };
  const content = { filename: 'avatar.webp', contentType: 'image/webp', size: bytes.length };
  await platform.db.files.insertOne({ ...common, ...content, _id: platform.ids.next(), key, blob, createdAt: new Date() });
  await platform.db.accounts.updateOne({ _id: id }, { $set: { avatarUrl: `${platform.config.baseUrl}/files/${key}/avatar.webp` } });
}
