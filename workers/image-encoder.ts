import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limits } from '../lib/base/limits.ts';
import type { ConvertedImage, EncodeImage } from '../lib/domain/image-conversion.ts';
import type { EncodeAnswer, EncodeAsk } from './image-encoder-child.ts';

/** What one image may cost, and how long the process that encodes is kept. */
export interface EncoderBounds {
  /** For one image, in milliseconds; then the process is killed. */
  encodeMs: number;
  /** The most memory that the process may hold, in bytes; then it ends. */
  heldBytes: number;
  /** Images until the process is replaced. */
  images: number;
  /** How long it waits for another image before it ends, in milliseconds. */
  idleMs: number;
}

/** Encodes images in a process of its own, so that none takes the worker with it: one at a time, the others wait. */
export interface ImageEncoder {
  encode: EncodeImage;
  /** Its process id, while there is one. */
  pid(): number | undefined;
  /** Lets what was asked for end, then ends the process; one more image would start it again. */
  close(): Promise<void>;
}

const usual: EncoderBounds = { encodeMs: limits.imageEncodeMs, heldBytes: limits.imageEncodeBytes, images: 200, idleMs: 60_000 };
const startMs = 20_000;
const fromSource = import.meta.url.endsWith('.ts');
const entry = fileURLToPath(new URL(`./image-encoder-child.${fromSource ? 'ts' : 'js'}`, import.meta.url));

/** The process that encodes; `ended` resolves when it is gone and its folder too. */
interface Encoding {
  child: ChildProcess;
  ended: Promise<void>;
}

/**
 * Starts the process and waits until it can be asked; throws when it does not come up. It is given no settings, as what reads strangers' bytes shall hold no
 * secret, and a folder for the decoder's own temporary files. It ends with this process, however that ends.
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
  // With nothing to do it holds up nobody's end.
  child.unref();
  child.channel?.unref();
  return { child, ended };
}

/** Asks for one image; null when the process ended instead of answering. */
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

/** An encoder within `bounds`; its process starts with the first image. */
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
    // One that ended by itself may have been ended by others: the image is tried once more.
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
      // What a hostile image left behind in the process goes with it.
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
