import { randomBytes } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { sniffImage } from '../../lib/base/magic.ts';
import { toStoredAttachment } from '../../lib/domain/files/attachment-updates.ts';
import type { EncodeImage } from '../../lib/domain/files/image-conversion.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { imageEncoder } from '../../workers/image-encoder.ts';
import { startTestApiWithWorker, type TestApi } from '../harness/api.ts';
import { plainMessage } from '../harness/plain-message.ts';
import { type SeededServer, seedServer } from '../harness/seed.ts';

/** An API and a worker platform on one new database and blob store. Conversions run only when a test runs them. */
export interface ConversionFixture {
  api: TestApi;
  worker: WorkerPlatform;
  seeded: SeededServer;
  encode: EncodeImage;
  /** Stores an image as an upload does: its document, with the state `waiting`, and its blob. `posted` also stores its message. */
  upload(image: Buffer, options?: { posted?: boolean; filename?: string }): Promise<FileDoc>;
  /** The file's document; null after it was deleted. */
  stored(file: FileDoc): Promise<FileDoc | null>;
  bytesOf(name: string): Promise<Buffer | null>;
  message(file: FileDoc): Promise<MessageDoc | null>;
  /** The names of all blobs. */
  blobs(): Promise<string[]>;
  /** The number of temporary local files. */
  leftovers(): Promise<number>;
  /** Runs `act` and expects that it changes no file document, blob, temporary file or message. */
  expectNoChange(act: () => Promise<unknown>): Promise<void>;
  /** Stores a WebP for a file as a worker does that is killed before it can record it. */
  storeLateWebp(file: FileDoc): Promise<void>;
  close(): Promise<void>;
}

const name = (): string => randomBytes(16).toString('hex');
const list = (folder: string): Promise<string[]> => readdir(folder, { recursive: true }).catch(() => []);

/** Starts the fixture. */
export async function startConversionFixture(): Promise<ConversionFixture> {
  const api = await startTestApiWithWorker();
  const { worker } = api;
  const { config, db, ids } = api.platform;
  const seeded = await seedServer(api.platform, { bots: 1, channels: 1 });
  const channelId = seeded.channelIds[0] ?? '';
  const fixture: ConversionFixture = {
    api,
    worker,
    seeded,
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
      await db.files.insertOne({ ...file });
      const path = await worker.blobs.newTempPath();
      await writeFile(path, image);
      await worker.blobs.put(file.original ?? '', path);
      if (posted) await post(file, now);
      return file;
    },
    stored: ({ _id }) => db.files.findOne({ _id }),
    async bytesOf(blob) {
      const found = await worker.blobs.open(blob);
      return found && Buffer.concat((await found.stream.toArray()) as Buffer[]);
    },
    message: ({ messageId }) => db.messages.findOne({ _id: messageId }),
    blobs: async () => (await list(join(config.FILES_DIR, 'blobs'))).flatMap((path) => path.split('/')[1] ?? []).sort(),
    leftovers: async () => (await list(join(config.FILES_DIR, 'incoming'))).length,
    async expectNoChange(act) {
      const before = await snapshot();
      await act();
      expect(await snapshot()).to.equal(before);
    },
    async storeLateWebp({ blob }) {
      const path = await worker.blobs.newTempPath();
      await writeFile(path, 'WebP');
      await worker.blobs.put(blob, path);
    },
    async close() {
      await imageEncoder.close();
      await api.close();
    },
  };
  const snapshot = async (): Promise<string> => {
    const [files, messages] = await Promise.all([
      db.files.find().sort({ _id: 1 }).toArray(),
      db.messages.find().sort({ _id: 1 }).toArray(),
    ]);
    return JSON.stringify({ files, messages, blobs: await fixture.blobs(), leftovers: await fixture.leftovers() });
  };
  const post = async (file: FileDoc, createdAt: Date): Promise<void> => {
    const other = { ...toStoredAttachment(file), id: ids.next(), key: name(), filename: 'another.zip' };
    await db.messages.insertOne({
      _id: file.messageId,
      channelId,
      serverId: seeded.serverId,
      authorId: seeded.ownerId,
      content: 'look',
      ...plainMessage,
      attachments: [other, toStoredAttachment(file)],
      createdAt,
    });
  };
  return fixture;
}
