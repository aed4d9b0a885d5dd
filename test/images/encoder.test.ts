import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createImageEncoder, type EncoderLimits, type ImageEncoder } from '../../workers/image-encoder.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { brokenPng, costlyPng, type Encoding, encodingWith, png } from './fixtures.ts';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

describe('images: the encoder process', () => {
  const bounds: EncoderLimits = { encodeMs: 100_000, maxMemoryBytes: 2 ** 31, maxImages: 100, idleMs: 60_000 };
  let encoder: ImageEncoder;
  let encoding: Encoding;
  const open = async (special: Partial<EncoderLimits> = {}): Promise<void> => {
    encoder = createImageEncoder({ ...bounds, ...special });
    encoding = await encodingWith(encoder);
  };
  const pid = (): number => encoder.pid() ?? 0;
  const outcomeOf = async (image: Buffer): Promise<string> => (await encoding.encode(image)).outcome;
  const close = async (): Promise<void> => {
    expect(await readdir(encoding.folder)).to.deep.equal([]);
    await encoding.close();
  };

  describe('with limits of its own', () => {
    afterEach(close);

    it('starts with the first image, encodes several and is replaced after the configured number', async () => {
      await open({ maxImages: 3 });
      expect(encoder.pid()).to.equal(undefined);
      expect(await outcomeOf(png)).to.equal('webp');
      const first = pid();
      expect(await outcomeOf(png)).to.equal('webp');
      expect(pid()).to.equal(first);
      expect(await outcomeOf(png)).to.equal('webp');
      await waitUntil(() => !isAlive(first), 'the first process ends');
      expect(await outcomeOf(png)).to.equal('webp');
      expect(pid()).not.to.equal(first);
    });

    it('is killed when an image takes too long, which is not converted; the next image is', async () => {
      await open({ encodeMs: 400 });
      expect(await outcomeOf(png)).to.equal('webp');
      const first = pid();
      expect(await encoding.encode(costlyPng())).to.deep.include({ outcome: 'plain', reason: 'not converted within 400 ms' });
      await waitUntil(() => !isAlive(first), 'the process ends');
      await encoder.close();
      expect(await outcomeOf(png)).to.equal('webp');
    });

    it('exits when an image takes too much memory, which is not converted; the next image is', async () => {
      await open({ maxMemoryBytes: 200 * 2 ** 20 });
      expect(await encoding.encode(costlyPng())).to.deep.include({ outcome: 'plain', reason: 'the conversion needs too much memory' });
      expect(await outcomeOf(png)).to.equal('webp');
    });

    it('exits after it was idle for the configured time', async () => {
      await open({ idleMs: 50 });
      expect(await outcomeOf(png)).to.equal('webp');
      await waitUntil(() => encoder.pid() === undefined, 'the process ends');
      expect(await outcomeOf(png)).to.equal('webp');
    });
  });

  describe('with limits that no image reaches', () => {
    before(() => open());
    after(close);

    it('is replaced after an image that could not be decoded', async () => {
      expect(await outcomeOf(png)).to.equal('webp');
      const first = pid();
      expect(await outcomeOf(brokenPng)).to.equal('plain');
      expect(await outcomeOf(png)).to.equal('webp');
      expect(pid()).not.to.equal(first);
    });

    /** Encodes an image and kills the process `times` times meanwhile. */
    const outcomeAfterKills = async (times: number): Promise<string> => {
      const outcome = outcomeOf(costlyPng());
      for (let time = 0, last = 0; time < times; time++) {
        await waitUntil(() => pid() !== 0 && pid() !== last, 'a process starts');
        last = pid();
        process.kill(last, 'SIGKILL');
      }
      return outcome;
    };

    it('retries an image after its process was killed once, and gives up after a second time', async () => {
      await encoder.close();
      expect(await outcomeAfterKills(1)).to.equal('webp');
      await encoder.close();
      expect(await outcomeAfterKills(2)).to.equal('plain');
      expect(await outcomeOf(png)).to.equal('webp');
    });

    it('finishes the current image when it receives the signals that stop a worker', async () => {
      expect(await outcomeOf(png)).to.equal('webp');
      const outcome = outcomeOf(costlyPng());
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid(), signal);
      expect(await outcome).to.equal('webp');
    });

    it('encodes parallel images one at a time, also when some are broken', async () => {
      const images = Array.from({ length: 12 }, (_, at) => (at % 4 === 3 ? brokenPng : png));
      const outcomes = await Promise.all(images.map(outcomeOf));
      expect(outcomes).to.deep.equal(images.map((_, at) => (at % 4 === 3 ? 'plain' : 'webp')));
    });

    it('close waits for the images in progress, and a later image is still encoded', async () => {
      const outcomes = [outcomeOf(costlyPng()), outcomeOf(png)];
      await encoder.close();
      expect(encoder.pid()).to.equal(undefined);
      expect(await Promise.all(outcomes)).to.deep.equal(['webp', 'webp']);
      expect(await outcomeOf(png)).to.equal('webp');
    });

    it('rejects when the file system fails, rather than treat the image as broken', async () => {
      const from = join(encoding.folder, 'from');
      await writeFile(from, png);
      const failed = await encoder.encode(from, join(encoding.folder, 'no', 'such', 'folder')).catch((error: Error) => error.message);
      expect(failed).to.match(/^the image encoder failed: ENOENT/);
      expect(existsSync(from)).to.equal(false);
      expect(await outcomeOf(png)).to.equal('webp');
    });

    it('receives no settings in its environment', async () => {
      expect(await outcomeOf(png)).to.equal('webp');
      const names = readFileSync(`/proc/${pid()}/environ`, 'utf8')
        .split('\0')
        .map((one) => one.split('=')[0])
        .filter(Boolean);
      expect(names).to.have.members(['TMPDIR', ...names.filter((name) => name?.startsWith('NODE_CHANNEL'))]);
    });

    it('exits and deletes its folder when its parent is killed', async () => {
      const image = join(encoding.folder, 'image');
      await writeFile(image, costlyPng());
      const parent: ChildProcess = fork(fileURLToPath(new URL('encoder-parent.ts', import.meta.url)), [image], {
        execArgv: ['--import=tsx'],
      });
      const [child] = (await once(parent, 'message')) as [{ pid: number }];
      const [, folder = ''] = /TMPDIR=([^\0]+)/.exec(readFileSync(`/proc/${child.pid}/environ`, 'utf8')) ?? [];
      expect([isAlive(child.pid), existsSync(folder)]).to.deep.equal([true, true]);
      parent.kill('SIGKILL');
      await waitUntil(() => !isAlive(child.pid) && !existsSync(folder), 'the process ends and its folder is deleted');
      await rm(image);
    });
  });
});
