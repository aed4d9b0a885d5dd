import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createImageEncoder, type EncoderBounds, type ImageEncoder } from '../../workers/image-encoder.ts';
import { until } from '../harness/scene.ts';
import { encodingWith, picture, pngOf } from './fixtures.ts';

/** Takes a second or more, and 250 MB or more, in 6 KB. */
const dear = (): Buffer => pngOf({ width: 7_071, height: 7_071, depth: 1, interlaced: true }, 6_300_000);
const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

describe('Images: the process that encodes', function () {
  this.timeout(180_000);
  const bounds: EncoderBounds = { encodeMs: 100_000, heldBytes: 2 ** 31, images: 100, idleMs: 60_000 };
  let encoder: ImageEncoder;
  let encoding: Awaited<ReturnType<typeof encodingWith>>;
  let good: Buffer;
  const open = async (special: Partial<EncoderBounds> = {}): Promise<void> => {
    encoder = createImageEncoder({ ...bounds, ...special });
    encoding = await encodingWith(encoder);
  };
  const pid = (): number => encoder.pid() ?? 0;
  const outcomeOf = async (image: Buffer): Promise<string> => (await encoding.encode(image)).outcome;
  before(async () => {
    good = await picture().png().toBuffer();
  });
  afterEach(async () => {
    expect(await readdir(encoding.folder)).to.deep.equal([]);
    await encoding.close();
  });

  it('is started by the first image, serves many, and is replaced after so many', async () => {
    await open({ images: 3 });
    expect(encoder.pid()).to.equal(undefined);
    expect(await outcomeOf(good)).to.equal('webp');
    const first = pid();
    expect(await outcomeOf(good)).to.equal('webp');
    expect(pid()).to.equal(first);
    expect(await outcomeOf(good)).to.equal('webp');
    await until(() => !alive(first), 'the end of the first process');
    expect(await outcomeOf(good)).to.equal('webp');
    expect(pid()).not.to.equal(first);
  });

  it('is killed when an image takes too long: it stays plain, and the next one works', async () => {
    await open({ encodeMs: 400 });
    expect(await outcomeOf(good)).to.equal('webp');
    const first = pid();
    expect(await encoding.encode(dear())).to.deep.include({ outcome: 'plain', why: 'not done in 400 ms' });
    await until(() => !alive(first), 'the end of the process');
    await encoder.close();
    expect(await outcomeOf(good)).to.equal('webp');
  });

  it('ends when an image takes too much memory: it stays plain, and the next one works', async () => {
    await open({ heldBytes: 200 * 2 ** 20 });
    expect(await encoding.encode(dear())).to.deep.include({ outcome: 'plain', why: 'it takes too much memory' });
    expect(await outcomeOf(good)).to.equal('webp');
  });

  it('is replaced after an image that could not be decoded', async () => {
    await open();
    expect(await outcomeOf(good)).to.equal('webp');
    const first = pid();
    expect(await outcomeOf(good.subarray(0, 60))).to.equal('plain');
    expect(await outcomeOf(good)).to.equal('webp');
    expect(pid()).not.to.equal(first);
  });

  /** Kills the process so many times while it is at an image. */
  const killing = async (times: number): Promise<string> => {
    const outcome = outcomeOf(dear());
    for (let time = 0, last = 0; time < times; time++) {
      await until(() => pid() !== 0 && pid() !== last, 'a process');
      last = pid();
      process.kill(last, 'SIGKILL');
    }
    return outcome;
  };

  it('once killed by others, the image is tried again; twice, it stays plain', async () => {
    await open();
    expect(await killing(1)).to.equal('webp');
    await encoder.close();
    expect(await killing(2)).to.equal('plain');
    expect(await outcomeOf(good)).to.equal('webp');
  });

  it('does not mind the signals that stop a worker: the image under way is finished', async () => {
    await open();
    expect(await outcomeOf(good)).to.equal('webp');
    const outcome = outcomeOf(dear());
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid(), signal);
    expect(await outcome).to.equal('webp');
  });

  it('does one at a time, also when many come at once and some are broken', async () => {
    await open();
    const images = Array.from({ length: 12 }, (_, at) => (at % 4 === 3 ? good.subarray(0, 60) : good));
    const outcomes = await Promise.all(images.map(outcomeOf));
    expect(outcomes).to.deep.equal(images.map((_, at) => (at % 4 === 3 ? 'plain' : 'webp')));
  });

  it('close waits for the images under way, and one that comes later is done too', async () => {
    await open();
    const outcomes = [outcomeOf(dear()), outcomeOf(good)];
    await encoder.close();
    expect(encoder.pid()).to.equal(undefined);
    expect(await Promise.all(outcomes)).to.deep.equal(['webp', 'webp']);
    expect(await outcomeOf(good)).to.equal('webp');
  });

  it('a fault of this machine is no fault of the image: it rejects', async () => {
    await open();
    const from = join(encoding.folder, 'from');
    await writeFile(from, good);
    const failed = await encoder.encode(from, join(encoding.folder, 'no', 'such', 'folder')).catch((error: Error) => error.message);
    expect(failed).to.match(/^the image encoder failed: ENOENT/);
    expect(existsSync(from)).to.equal(false);
    expect(await outcomeOf(good)).to.equal('webp');
  });

  it('ends after it had nothing to do for a while', async () => {
    await open({ idleMs: 50 });
    expect(await outcomeOf(good)).to.equal('webp');
    await until(() => encoder.pid() === undefined, 'the end of the process');
    expect(await outcomeOf(good)).to.equal('webp');
  });

  it('is given no settings', async () => {
    await open();
    expect(await outcomeOf(good)).to.equal('webp');
    const names = readFileSync(`/proc/${pid()}/environ`, 'utf8')
      .split('\0')
      .map((one) => one.split('=')[0])
      .filter(Boolean);
    expect(names).to.have.members(['TMPDIR', 'TSX_DISABLE_CACHE', ...names.filter((name) => name?.startsWith('NODE_CHANNEL'))]);
  });

  it('ends with its parent, however that ends, and takes its folder with it', async () => {
    await open();
    const image = join(encoding.folder, 'image');
    await writeFile(image, dear());
    const parent: ChildProcess = fork(fileURLToPath(new URL('encoder-parent.ts', import.meta.url)), [image], {
      execArgv: ['--import=tsx'],
    });
    const [child] = (await once(parent, 'message')) as [{ pid: number }];
    const [, folder = ''] = /TMPDIR=([^\0]+)/.exec(readFileSync(`/proc/${child.pid}/environ`, 'utf8')) ?? [];
    expect([alive(child.pid), existsSync(folder)]).to.deep.equal([true, true]);
    parent.kill('SIGKILL');
    await until(() => !alive(child.pid) && !existsSync(folder), 'the end of the process and its folder');
    await rm(image);
  });
});
