import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { openBlobs } from '../../lib/store/files/blobs.ts';
import type { Blobs } from '../../lib/store/files/store.ts';
import { testConfig } from '../harness/stores.ts';
import { startS3 } from './s3-server.ts';

interface Kind {
  name: string;
  start: (folder: string) => Promise<{ blobs: Blobs; close: () => Promise<void> }>;
}

const kinds: Kind[] = [
  {
    name: 'a folder',
    start: async (folder) => ({ blobs: openBlobs(testConfig({ FILES_DIR: folder })), close: async () => undefined }),
  },
  {
    name: 'S3 (s3rver 3.7)',
    start: async (folder) => {
      const s3 = await startS3(folder);
      return { blobs: openBlobs(testConfig(s3.settings)), close: () => s3.close() };
    },
  },
];

for (const kind of kinds)
  describe(`blob store: ${kind.name}`, () => {
    let folder: string;
    let blobs: Blobs;
    let close: () => Promise<void>;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parlance-blobs-'));
      ({ blobs, close } = await kind.start(folder));
    });
    after(async () => {
      blobs.close();
      await close();
      await rm(folder, { recursive: true, force: true });
    });

    const keep = async (name: string, bytes: Buffer): Promise<string> => {
      const path = await blobs.tempPath();
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
    const missing = (path: string): Promise<boolean> =>
      stat(path).then(
        () => false,
        () => true,
      );

    it('put keeps the bytes and takes the local file; open gives them', async () => {
      const bytes = randomBytes(3 * 1024 * 1024 + 7);
      const path = await keep('a1-whole', bytes);
      expect(await missing(path)).to.equal(true);
      expect((await read('a1-whole'))?.equals(bytes)).to.equal(true);
    });

    it('an empty blob is a blob', async () => {
      await keep('empty', Buffer.alloc(0));
      expect(await read('empty')).to.have.length(0);
    });

    it('open gives a part, both ends inclusive', async () => {
      await keep('part', Buffer.from('0123456789'));
      expect(String(await read('part', { start: 2, end: 4 }))).to.equal('234');
      expect(String(await read('part', { start: 9, end: 9 }))).to.equal('9');
    });

    it('put over a name that is there replaces it', async () => {
      await keep('again', Buffer.from('old and longer'));
      await keep('again', Buffer.from('new'));
      expect(String(await read('again'))).to.equal('new');
    });

    it('fetch copies to a local file that the caller owns', async () => {
      await keep('out', Buffer.from('bytes'));
      const path = await blobs.fetch('out');
      expect(path && (await readFile(path, 'utf8'))).to.equal('bytes');
      await writeFile(String(path), 'changed');
      expect(String(await read('out'))).to.equal('bytes');
      await rm(String(path));
    });

    it('what is not there: open and fetch null, delete fine, twice', async () => {
      expect(await blobs.open('nothing')).to.equal(null);
      expect(await blobs.open('nothing', { start: 0, end: 1 })).to.equal(null);
      expect(await blobs.fetch('nothing')).to.equal(null);
      await keep('gone', Buffer.from('x'));
      await blobs.delete('gone');
      await blobs.delete('gone');
      expect(await blobs.open('gone')).to.equal(null);
    });

    it('names that could lead elsewhere are never used', async () => {
      for (const name of ['', '../x', 'a/b', 'A', 'a.b', 'a\0', 'x'.repeat(65)])
        expect(() => blobs.delete(name), JSON.stringify(name)).to.throw('not the name');
    });

    it('twenty writers and readers at once', async () => {
      const names = Array.from({ length: 20 }, (_, at) => `many-${at}`);
      await Promise.all(names.map((name) => keep(name, Buffer.from(name.repeat(10_000)))));
      const found = await Promise.all(names.map((name) => read(name)));
      expect(found.map(String)).to.deep.equal(names.map((name) => name.repeat(10_000)));
    });

    it('put of a local file that is gone is BlobsUnavailable and leaves nothing', async () => {
      const path = await blobs.tempPath();
      const fault = await blobs.put('never', path).catch((error: unknown) => error as Error);
      expect(fault?.name).to.equal('BlobsUnavailable');
      expect(await blobs.open('never')).to.equal(null);
    });

    it('sweepTemp takes the local files that nobody writes to any more, and no others', async () => {
      const [old, young] = [await blobs.tempPath(), await blobs.tempPath()];
      await writeFile(old, 'x');
      await writeFile(young, 'x');
      await utimes(old, new Date(0), new Date(Date.now() - 20 * 60_000));
      await blobs.sweepTemp(15 * 60_000);
      expect([await missing(old), await missing(young)]).to.deep.equal([true, false]);
      await rm(young);
    });
  });

describe('blob store: a folder, on disk', () => {
  it('blobs lie in folders by the first two characters, and nothing is left of their way in', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parlance-blobs-'));
    const blobs = openBlobs(testConfig({ FILES_DIR: folder }));
    const path = await blobs.tempPath();
    await writeFile(path, 'x');
    await blobs.put('ab34', path);
    expect(await readdir(join(folder, 'blobs', 'ab'))).to.deep.equal(['ab34']);
    expect(await readdir(join(folder, 'incoming'))).to.deep.equal([]);
    await rm(folder, { recursive: true });
  });

  it('a folder that cannot be written is BlobsUnavailable', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parlance-blobs-'));
    await writeFile(join(folder, 'file'), '');
    const blobs = openBlobs(testConfig({ FILES_DIR: join(folder, 'file', 'files') }));
    const fault = await blobs.tempPath().catch((error: unknown) => error as Error);
    expect((fault as Error).name).to.equal('BlobsUnavailable');
    await rm(folder, { recursive: true });
  });

  it('a put that fails takes the local file with it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parlance-blobs-'));
    await writeFile(join(folder, 'blobs'), 'no folder');
    const blobs = openBlobs(testConfig({ FILES_DIR: folder }));
    const path = await blobs.tempPath();
    await writeFile(path, 'x');
    const fault = await blobs.put('ab34', path).catch((error: unknown) => error as Error);
    expect([(fault as Error).name, await readdir(join(folder, 'incoming'))]).to.deep.equal(['BlobsUnavailable', []]);
    await rm(folder, { recursive: true });
  });
});

describe('blob store: S3 that does not answer', () => {
  it('is BlobsUnavailable after bounded tries', async () => {
    const blobs = openBlobs(
      testConfig({ S3_ENDPOINT: 'http://127.0.0.1:9', S3_BUCKET: 'files', S3_ACCESS_KEY: 'S3RVER', S3_SECRET_KEY: 'S3RVER' }),
    );
    const fault = await blobs.open('x').catch((error: unknown) => error as Error);
    expect((fault as Error).name).to.equal('BlobsUnavailable');
    const path = await blobs.tempPath();
    await writeFile(path, 'x');
    const kept = await blobs.put('x', path).catch((error: unknown) => error as Error);
    expect([(kept as Error).name, await stat(path).catch(() => 'gone')]).to.deep.equal(['BlobsUnavailable', 'gone']);
    blobs.close();
  });

  it('half a configuration is refused in one line', () => {
    expect(() => testConfig({ S3_ENDPOINT: 'http://127.0.0.1:9', S3_BUCKET: 'files' })).to.throw(
      'Configuration: S3_ACCESS_KEY, S3_SECRET_KEY must be set too: S3 needs all of S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY',
    );
  });
});
