import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limits } from '../lib/base/limits.ts';
import type { ConvertedImage, EncodeImage } from '../lib/domain/files/image-conversion.ts';
import type { EncodeAnswer, EncodeAsk } from './image-encoder-child.ts';

/** The limits of one image, and of the process that encodes. */
export interface EncoderBounds {
  /** How long one image may take, in milliseconds. After that the process is killed. */
  encodeMs: number;
  /** How much memory the process may use, in bytes. Above that it ends itself. */
  heldBytes: number;
  /** After how many images the process is replaced. */
  images: number;
  /** How long the process may be idle before it is killed, in milliseconds. */
  idleMs: number;
}

/** Encodes images one at a time in a separate process, so that no image can crash the worker. */
export interface ImageEncoder {
  encode: EncodeImage;
  /** The id of the encoder process; undefined while there is none. */
  pid(): number | undefined;
  /** Waits for the requested images, then kills the process. A later `encode` starts it again. */
  close(): Promise<void>;
}

const usual: EncoderBounds = { encodeMs: limits.imageEncodeMs, heldBytes: limits.imageEncodeBytes, images: 200, idleMs: 60_000 };
const startMs = 20_000;
const fromSource = import.meta.url.endsWith('.ts');
const entry = fileURLToPath(new URL(`./image-encoder-child.${fromSource ? 'ts' : 'js'}`, import.meta.url));

/** The encoder process. `ended` resolves when the process has ended and its folder is deleted. */
interface Encoding {
  child: ChildProcess;
  ended: Promise<void>;
}

/**
 * Starts the encoder process and waits until it is ready. Throws if it ends first, or is not ready after 20 s. It gets no settings, because a process that
 * reads untrusted files must hold no secrets. It gets a folder for the decoder's temporary files. It ends when this process ends, for whatever reason.
 */
async function start({ heldBytes }: EncoderBounds): Promise<Encoding> {
  const folder = await mkdtemp(join(tmpdir(), 'parlance-images-'));
  const child = fork(entry, [folder, String(heldBytes)], {
    execArgv: fromSource ? ['--import=tsx'] : [],
    env: { TMPDIR: folder, TSX_DISABLE_CACHE: '1' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve)).then(() =>
    rm(folder, { recursive: true, force: true }).catch(() => undefined),
  );
  const fail = ended.then(() => Promise.reject(new Error('the image encoder does not come up')));
  const timer = setTimeout(() => child.kill('SIGKILL'), startMs);
  await Promise.race([once(child, 'message'), fail]).finally(() => clearTimeout(timer));
  child.on('error', () => undefined);
  // An idle encoder process must not keep this process running.
  child.unref();
  child.channel?.unref();
  return { child, ended };
}

/** Requests one image from the process. Returns null if the process ended without an answer. */
function ask(child: ChildProcess, question: EncodeAsk, encodeMs: number): Promise<EncodeAnswer | null> {
  return new Promise((resolve) => {
    const settle = (answer: EncodeAnswer | null): void => {
      clearTimeout(timer);
      child.off('message', settle).off('exit', ended);
      resolve(answer);
    };
    const ended = (): void => settle(null);
    const timer = setTimeout(() => settle({ outcome: 'plain', why: `not done in ${encodeMs} ms` }), encodeMs);
    child.once('message', settle).once('exit', ended);
    child.send(question, (error) => error && ended());
  });
}

/** Creates an encoder with these limits. Its process starts with the first image. */
export function createImageEncoder(bounds: EncoderBounds = usual): ImageEncoder {
  let encoding: Encoding | null = null;
  let done = 0;
  let idle: NodeJS.Timeout | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const retire = (): Promise<void> => {
    const { child, ended = Promise.resolve() } = encoding ?? {};
    child?.kill('SIGKILL');
    encoding = null;
    done = 0;
    return ended;
  };
  const answerTo = async (question: EncodeAsk): Promise<EncodeAnswer> => {
    // If the process ended, something other than the image may have killed it, so the image is tried once more.
    for (let attempt = 1; attempt <= 2; attempt++) {
      encoding ??= await start(bounds);
      const answer = await ask(encoding.child, question, bounds.encodeMs);
      if (answer) return answer;
      void retire();
      await rm(question.to, { force: true });
    }
    return { outcome: 'plain', why: 'it ends the encoder' };
  };
  const one = async (question: EncodeAsk): Promise<ConvertedImage> => {
    const { from, to } = question;
    clearTimeout(idle);
    let answer: EncodeAnswer | null = null;
    try {
      answer = await answerTo(question);
      if (answer.outcome === 'failed') throw new Error(`the image encoder failed: ${answer.why}`);
      const { size } = await stat(answer.outcome === 'webp' ? to : from);
      return { ...answer, size };
    } finally {
      await rm(from, { force: true });
      if (answer?.outcome !== 'webp') await rm(to, { force: true });
      // A hostile image may have left the process in a bad state, so the process is replaced.
      if (answer?.outcome === 'plain' || ++done >= bounds.images) void retire();
      idle = setTimeout(() => void retire(), bounds.idleMs).unref();
    }
  };
  return {
    encode(from, to, side) {
      const mine = turn.then(() => one(side === undefined ? { from, to } : { from, to, side }));
      turn = mine.catch(() => undefined);
      return mine;
    },
    pid: () => encoding?.child.pid,
    close: async () => {
      await turn;
      clearTimeout(idle);
      await retire();
    },
  };
}

/** The encoder of this process. */
export const imageEncoder: ImageEncoder = createImageEncoder();
