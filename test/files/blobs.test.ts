import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { openBlobs } from '../../lib/store/files/blobs.ts';
import { makeFolder } from '../harness/folder.ts';
import { testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';
import { type BlobBackend, startS3 } from './s3-server.ts';

/** Opens a blob store whose settings depend on a new folder; `close` also closes what `start` starts. */
async function openStore(start: (folder: string) => Promise<BlobBackend>) {
  const folder = await makeFolder();
  const server = await start(folder.path);
  const blobs = openBlobs(testConfig(server.settings));
  return {
    ...blobs,
    folder: folder.path,
    async close() {
      blobs.close();
      await server.close();
      await folder.close();
    },
  };
}

const isMissing = (path: string): Promise<boolean> =>
  stat(path).then(
    () => false,
    () => true,
  );
/** The name of a failed call's error, null if the call succeeds. */
const nameOfError = (call: Promise<unknown>): Promise<string | null> =>
  call.then(
    () => null,
    (error: Error) => error.name,
  );
const startFolder = async (folder: string): Promise<BlobBackend> => ({ settings: { FILES_DIR: folder }, close: async () => undefined });

for (const [kind, start] of [
  ['a folder', startFolder],
  ['S3 (s3rver 3.7)', startS3],
] as const)
  describe(`blob store: ${kind}`, () => {
    const blobs = use(() => openStore(start));

    const store = async (name: string, bytes: Buffer): Promise<string> => {
      const path = await blobs.newTempPath();
      await writeFile(path, bytes);
      await blobs.put(name, path, 'application/octet-stream');
      return path;
    };
    const read = async (name: string, range?: { start: number; end: number }): Promise<Buffer | null> => {
      const found = await blobs.open(name, range);
      if (!found) return null;
      const bytes = await buffer(found.stream);
      expect(found.size).to.equal(bytes.length);
      return bytes;
    };

    it('put stores the bytes and removes the local file; open returns them', async () => {
      const bytes = randomBytes(3 * 1024 * 1024 + 7);
      const path = await store('a1-large', bytes);
      expect(await isMissing(path)).to.equal(true);
      expect((await read('a1-large'))?.equals(bytes)).to.equal(true);
    });

    it('stores an empty blob', async () => {
      await store('empty', Buffer.alloc(0));
      expect(await read('empty')).to.have.length(0);
    });

    it('open returns a range of bytes, including both ends', async () => {
      await store('part', Buffer.from('0123456789'));
      expect(String(await read('part', { start: 2, end: 4 }))).to.equal('234');
      expect(String(await read('part', { start: 9, end: 9 }))).to.equal('9');
    });

    it('put replaces a blob of the same name', async () => {
      await store('again', Buffer.from('old and longer'));
      await store('again', Buffer.from('new'));
      expect(String(await read('again'))).to.equal('new');
    });

    it('fetch copies a blob to a local file, whose changes do not affect the blob', async () => {
      await store('out', Buffer.from('bytes'));
      const path = await blobs.fetch('out');
      expect(path && (await readFile(path, 'utf8'))).to.equal('bytes');
      await writeFile(String(path), 'changed');
      expect(String(await read('out'))).to.equal('bytes');
      await rm(String(path));
    });

    it('open and fetch return null for a missing blob, and deleting it again succeeds', async () => {
      expect(await blobs.open('nothing')).to.equal(null);
      expect(await blobs.open('nothing', { start: 0, end: 1 })).to.equal(null);
      expect(await blobs.fetch('nothing')).to.equal(null);
      await store('gone', Buffer.from('x'));
      await blobs.delete('gone');
      await blobs.delete('gone');
      expect(await blobs.open('gone')).to.equal(null);
    });

    it('refuses names that could lead to another folder', async () => {
      for (const name of ['', '../x', 'a/b', 'A', 'a.b', 'a\0', 'x'.repeat(65)])
        expect(() => blobs.delete(name), JSON.stringify(name)).to.throw('not the name');
    });

    it('stores and reads 20 blobs in parallel', async () => {
      const names = Array.from({ length: 20 }, (_, at) => `many-${at}`);
      await Promise.all(names.map((name) => store(name, Buffer.from(name.repeat(10_000)))));
      const found = await Promise.all(names.map((name) => read(name)));
      expect(found.map(String)).to.deep.equal(names.map((name) => name.repeat(10_000)));
    });

    it('put of a missing local file throws BlobsUnavailable and stores nothing', async () => {
      const path = await blobs.newTempPath();
      expect(await nameOfError(blobs.put('never', path))).to.equal('BlobsUnavailable');
      expect(await blobs.open('never')).to.equal(null);
    });

    it('removeOldTemp deletes local files older than its limit, and no others', async () => {
      const [old, young] = [await blobs.newTempPath(), await blobs.newTempPath()];
      await writeFile(old, 'x');
      await writeFile(young, 'x');
      await utimes(old, new Date(0), new Date(Date.now() - 20 * 60_000));
      await blobs.removeOldTemp(15 * 60_000);
      expect([await isMissing(old), await isMissing(young)]).to.deep.equal([true, false]);
      await rm(young);
    });
  });

describe('blob store: a folder, on disk', () => {
  const blobs = use(() => openStore(startFolder), { each: true });

  it('stores a blob in a folder named by its first two characters, and leaves no temporary file', async () => {
    const path = await blobs.newTempPath();
    await writeFile(path, 'x');
    await blobs.put('ab34', path);
    expect(await readdir(join(blobs.folder, 'blobs', 'ab'))).to.deep.equal(['ab34']);
    expect(await readdir(join(blobs.folder, 'incoming'))).to.deep.equal([]);
  });

  it('throws BlobsUnavailable when the folder cannot be written', async () => {
    await writeFile(join(blobs.folder, 'file'), '');
    const inFile = openBlobs(testConfig({ FILES_DIR: join(blobs.folder, 'file', 'files') }));
    expect(await nameOfError(inFile.newTempPath())).to.equal('BlobsUnavailable');
  });

  it('a failed put deletes the local file', async () => {
    await writeFile(join(blobs.folder, 'blobs'), 'no folder');
    const path = await blobs.newTempPath();
    await writeFile(path, 'x');
    expect(await nameOfError(blobs.put('ab34', path))).to.equal('BlobsUnavailable');
    expect(await readdir(join(blobs.folder, 'incoming'))).to.deep.equal([]);
  });
});

describe('blob store: unreachable S3', () => {
  it('throws BlobsUnavailable after a limited number of attempts', async () => {
    const blobs = openBlobs(
      testConfig({ S3_ENDPOINT: 'http://127.0.0.1:9', S3_BUCKET: 'files', S3_ACCESS_KEY: 'S3RVER', S3_SECRET_KEY: 'S3RVER' }),
    );
    expect(await nameOfError(blobs.open('x'))).to.equal('BlobsUnavailable');
    const path = await blobs.newTempPath();
    await writeFile(path, 'x');
    expect(await nameOfError(blobs.put('x', path))).to.equal('BlobsUnavailable');
    expect(await isMissing(path)).to.equal(true);
    blobs.close();
  });

  it('refuses an incomplete S3 configuration with a one-line message', () => {
    expect(() => testConfig({ S3_ENDPOINT: 'http://127.0.0.1:9', S3_BUCKET: 'files' })).to.throw(
      'Invalid configuration: S3_ACCESS_KEY, S3_SECRET_KEY must be set too: S3 needs all of S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY',
    );
  });
});
