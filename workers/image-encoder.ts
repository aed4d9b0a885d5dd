import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limits } from '../lib/base/limits.ts';
import { copyWithoutMetadata } from '../lib/base/metadata.ts';
import type { ConvertedImage, EncodeImage } from '../lib/domain/files/image-conversion.ts';
import type { EncodeRequest, EncodeResult } from './image-encoder-child.ts';

/** The limits of one image, and of the process that encodes. */
export interface EncoderLimits {
  /** How long one image may take, in milliseconds. After that the process is killed. */
  encodeMs: number;
  /** How much memory the process may use, in bytes. Above that it ends itself. */
  maxMemoryBytes: number;
  /** After how many images the process is replaced. */
  maxImages: number;
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

const defaultLimits: EncoderLimits = {
  encodeMs: limits.imageEncodeMs,
  maxMemoryBytes: limits.imageEncodeBytes,
  maxImages: 200,
  idleMs: 60_000,
};
const startTimeoutMs = 20_000;
/** The program of the process. It is always the compiled code, because compiling it takes longer than an image on a busy machine. */
const programFolder = import.meta.url.endsWith('.ts') ? '../dist/workers' : '.';
const childPath = fileURLToPath(new URL(`${programFolder}/image-encoder-child.js`, import.meta.url));

/** The encoder process. `ended` resolves when the process has ended and its folder is deleted. */
interface EncoderProcess {
  child: ChildProcess;
  ended: Promise<void>;
}

/**
 * Starts the encoder process and waits until it is ready. Throws if it ends first, or is not ready after 20 s. It gets no settings, because a process that
 * reads untrusted files must hold no secrets. It gets a folder for the decoder's temporary files. It ends when this process ends, for whatever reason.
 */
async function startProcess({ maxMemoryBytes }: EncoderLimits): Promise<EncoderProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'parlance-images-'));
  const child = fork(childPath, [folder, String(maxMemoryBytes)], {
    execArgv: [],
    env: { TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve)).then(() =>
    rm(folder, { recursive: true, force: true }).catch(() => undefined),
  );
  const startFailure = ended.then(() => Promise.reject(new Error('the image encoder did not start')));
  const timer = setTimeout(() => child.kill('SIGKILL'), startTimeoutMs);
  await Promise.race([once(child, 'message'), startFailure]).finally(() => clearTimeout(timer));
  child.on('error', () => undefined);
  // An idle encoder process must not keep this process running.
  child.unref();
  child.channel?.unref();
  return { child, ended };
}

/** Requests one image from the process. Returns null if the process ended without an answer. */
function requestEncode(child: ChildProcess, request: EncodeRequest, encodeMs: number): Promise<EncodeResult | null> {
  return new Promise((resolve) => {
    const finish = (result: EncodeResult | null): void => {
      clearTimeout(timer);
      child.off('message', finish).off('exit', onExit);
      resolve(result);
    };
    const onExit = (): void => finish(null);
    const timer = setTimeout(() => finish({ outcome: 'plain', reason: `not converted within ${encodeMs} ms` }), encodeMs);
    child.once('message', finish).once('exit', onExit);
    child.send(request, (error) => error && onExit());
  });
}

/** Creates an encoder with these limits. Its process starts with the first image. */
export function createImageEncoder(encoderLimits: EncoderLimits = defaultLimits): ImageEncoder {
  let encoder: EncoderProcess | null = null;
  let encodedImages = 0;
  let idleTimer: NodeJS.Timeout | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  const stopProcess = (): Promise<void> => {
    const { child, ended = Promise.resolve() } = encoder ?? {};
    child?.kill('SIGKILL');
    encoder = null;
    encodedImages = 0;
    return ended;
  };
  const encodeWithRetry = async (request: EncodeRequest): Promise<EncodeResult> => {
    // If the process ended, something other than the image may have killed it, so the image is tried once more.
    for (let attempt = 1; attempt <= 2; attempt++) {
      encoder ??= await startProcess(encoderLimits);
      const result = await requestEncode(encoder.child, request, encoderLimits.encodeMs);
      if (result) return result;
      void stopProcess();
      await rm(request.to, { force: true });
    }
    return { outcome: 'plain', reason: 'the encoder process crashed' };
  };
  const encodeOne = async (request: EncodeRequest): Promise<ConvertedImage> => {
    const { from, to } = request;
    clearTimeout(idleTimer);
    let result: EncodeResult | null = null;
    try {
      result = await encodeWithRetry(request);
      if (result.outcome === 'failed') throw new Error(`the image encoder failed: ${result.reason}`);
      if (result.outcome === 'webp') return { ...result, size: (await stat(to)).size };
      await rm(to, { force: true }); // what an encoder process has left that was ended
      return { ...result, size: await copyWithoutMetadata(from, to) };
    } finally {
      await rm(from, { force: true });
      if (!result || result.outcome === 'failed') await rm(to, { force: true });
      // A hostile image may have left the process in a bad state, so the process is replaced.
      if (result?.outcome === 'plain' || ++encodedImages >= encoderLimits.maxImages) void stopProcess();
      idleTimer = setTimeout(() => void stopProcess(), encoderLimits.idleMs).unref();
    }
  };
  return {
    encode(from, to, side) {
      const result = queue.then(() => encodeOne(side === undefined ? { from, to } : { from, to, side }));
      queue = result.catch(() => undefined);
      return result;
    },
    pid: () => encoder?.child.pid,
    close: async () => {
      await queue;
      clearTimeout(idleTimer);
      await stopProcess();
    },
  };
}

/** The encoder of this process. */
export const imageEncoder: ImageEncoder = createImageEncoder();
