import { randomBytes } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLog } from '../../lib/base/log.ts';
import { sniffImage } from '../../lib/base/magic.ts';
import { attachmentOfFile } from '../../lib/domain/files/attachment-updates.ts';
import type { EncodeImage } from '../../lib/domain/files/image-conversion.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { imageEncoder } from '../../workers/image-encoder.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makeWorld, type World } from '../harness/world.ts';

/** An API and a worker's powers on one fresh database and blob store; conversions run only when a test runs them. */
export interface Studio {
  api: TestApi;
  worker: WorkerPlatform;
  world: World;
  encode: EncodeImage;
  /** An image as an upload leaves it: its document, waiting, and its blob. `posted` puts it in a message that stands already. */
  upload(image: Buffer, options?: { posted?: boolean; filename?: string }): Promise<FileDoc>;
  /** The file, and the blob that it is served from. */
  stored(file: FileDoc): Promise<FileDoc | null>;
  bytesOf(name: string): Promise<Buffer | null>;
  message(file: FileDoc): Promise<MessageDoc | null>;
  /** The names of all blobs, and how many local files lie about. */
  blobs(): Promise<string[]>;
  leftovers(): Promise<number>;
  /** Everything stored that a conversion touches, to compare. */
  snapshot(): Promise<string>;
  close(): Promise<void>;
}

const name = (): string => randomBytes(16).toString('hex');
const list = (folder: string): Promise<string[]> => readdir(folder, { recursive: true }).catch(() => []);

/** Builds it. */
export async function openStudio(): Promise<Studio> {
  const api = await startTestApi();
  const { config, db, ids } = api.platform;
  const worker = await openWorkerPlatform(config, createLog('test', 'silent'));
  const world = await makeWorld(api.platform, { bots: 1, channels: 1 });
  const channelId = world.channelIds[0] ?? '';
  const studio: Studio = {
    api,
    worker,
    world,
    encode: imageEncoder.encode,
    async upload(image, { posted = false, filename = 'a photograph.upload' } = {}) {
      const now = new Date();
      const file: FileDoc = {
        _id: ids.next(),
        key: name(),
        blob: name(),
        original: name(),
        messageId: ids.next(),
        channelId,
        filename: 'a photograph.webp',
        contentType: 'image/webp',
        uploadedAs: { filename, contentType: `image/${sniffImage(image) ?? 'png'}` },
        size: image.length,
        width: null,
        height: null,
        state: 'waiting',
        createdAt: now,
      };
      await db.files.collection.insertOne({ ...file } as never);
      const path = await worker.blobs.tempPath();
      await writeFile(path, image);
      await worker.blobs.put(file.original ?? '', path);
      if (posted) await post(file, now);
      return file;
    },
    stored: async ({ _id }) => await db.files.findOne({ _id }).lean(),
    async bytesOf(blob) {
      const found = await worker.blobs.open(blob);
      return found && Buffer.concat((await found.stream.toArray()) as Buffer[]);
    },
    message: async ({ messageId }) => await db.messages.findOne({ _id: messageId }).lean(),
    blobs: async () => (await list(join(config.FILES_DIR, 'blobs'))).flatMap((path) => path.split('/')[1] ?? []).sort(),
    leftovers: async () => (await list(join(config.FILES_DIR, 'incoming'))).length,
    async snapshot() {
      const [files, messages] = await Promise.all([db.files.find().sort({ _id: 1 }).lean(), db.messages.find().sort({ _id: 1 }).lean()]);
      return JSON.stringify({ files, messages, blobs: await studio.blobs(), leftovers: await studio.leftovers() });
    },
    async close() {
      await imageEncoder.close();
      await worker.close();
      await api.close();
    },
  };
  const post = async (file: FileDoc, createdAt: Date): Promise<void> => {
    const other = { ...attachmentOfFile(file), id: ids.next(), key: name(), filename: 'another.zip' };
    await db.messages.collection.insertOne({
      _id: file.messageId,
      channelId,
      serverId: world.serverId,
      authorId: world.ownerId,
      content: 'look',
      embeds: [],
      attachments: [other, attachmentOfFile(file)],
      mentions: [],
      mentionRoles: [],
      mentionEveryone: false,
      replyTo: null,
      interaction: null,
      createdAt,
      editedAt: null,
    } as never);
  };
  return studio;
}
