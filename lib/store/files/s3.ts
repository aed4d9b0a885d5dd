import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Config } from '../../../config/index.ts';
import type { Blobs, ByteRange } from './store.ts';
import { checkName, createTemp, isMissing, reaching, taking } from './temp.ts';

type Sdk = typeof import('@aws-sdk/client-s3');

/** How often a call is tried, and the timeouts for the connection and for the response. */
const tries = 3;
const connectMs = 2_000;
const silenceMs = 10_000;
/** How long a blob's stream may be idle: its reader may pause, as a video player does. */
const pauseMs = 60_000;

const silent = (): void => undefined;

async function connect(config: Config): Promise<{ sdk: Sdk; client: S3Client }> {
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3Client({
    endpoint: config.S3_ENDPOINT,
    region: 'us-east-1', // accepted by S3-compatible stores without regions
    followRegionRedirects: true,
    forcePathStyle: true,
    credentials: { accessKeyId: config.S3_ACCESS_KEY, secretAccessKey: config.S3_SECRET_KEY },
    maxAttempts: 1, // `persist` retries instead, because the client cannot resend a streamed body
    logger: { trace: silent, debug: silent, info: silent, warn: silent, error: silent }, // by default it writes to the console
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectMs, requestTimeout: silenceMs, socketTimeout: pauseMs, throwOnRequestTimeout: true },
  });
  return { sdk, client };
}

const statusOf = (error: unknown): number | undefined =>
  (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;

/** Runs `act`, and retries it after a failure of the connection or of the store, but not after a refusal (4xx other than 429). */
async function persist<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      const status = statusOf(error);
      const final = (status !== undefined && status < 500 && status !== 429) || isMissing(error);
      if (final || attempt === tries) throw error;
      await pause(100 * 4 ** (attempt - 1));
    }
  }
}

/**
 * Stores blobs as objects in the bucket of `config`, with path-style addresses. Temporary files are in `FILES_DIR/incoming`. The S3 client is loaded on first
 * use.
 */
export function openS3Blobs(config: Config): Blobs {
  const temp = createTemp(join(resolve(config.FILES_DIR), 'incoming'));
  let connected: ReturnType<typeof connect> | null = null;
  const connection = (): ReturnType<typeof connect> => {
    connected ??= connect(config);
    return connected;
  };
  const objectOf = (name: string): { Bucket: string; Key: string } => {
    checkName(name);
    return { Bucket: config.S3_BUCKET, Key: name };
  };
  const read = async (object: { Bucket: string; Key: string }, range?: ByteRange): Promise<{ stream: Readable; size: number } | null> => {
    const { sdk, client } = await connection();
    const command = new sdk.GetObjectCommand({ ...object, ...(range ? { Range: `bytes=${range.start}-${range.end}` } : {}) });
    try {
      const { Body, ContentLength } = await persist(() => client.send(command));
      return { stream: Body as Readable, size: ContentLength ?? 0 };
    } catch (error) {
      if (statusOf(error) === 404) return null;
      throw error;
    }
  };
  return {
    tempPath: () => temp.path(),
    put: (name, path, contentType) => {
      const object = objectOf(name);
      return taking(path, async () => {
        const { sdk, client } = await connection();
        const { size } = await stat(path);
        await persist(async () => {
          const Body = createReadStream(path);
          const type = contentType === undefined ? {} : { ContentType: contentType };
          try {
            await client.send(new sdk.PutObjectCommand({ ...object, ...type, Body, ContentLength: size }));
          } finally {
            Body.destroy();
          }
        });
      });
    },
    open: (name, range) => {
      const object = objectOf(name);
      return reaching(() => read(object, range));
    },
    fetch: (name) => {
      const object = objectOf(name);
      return reaching(async () => {
        const copy = await temp.path();
        return persist(async () => {
          const found = await read(object);
          if (!found) return null;
          try {
            await pipeline(found.stream, createWriteStream(copy));
          } catch (error) {
            await rm(copy, { force: true });
            throw error;
          }
          return copy;
        });
      });
    },
    delete: (name) => {
      const object = objectOf(name);
      return reaching(async () => {
        const { sdk, client } = await connection();
        await persist(() => client.send(new sdk.DeleteObjectCommand(object))).catch((error: unknown) => {
          if (statusOf(error) !== 404) throw error;
        });
      });
    },
    sweepTemp: (ms) => temp.sweep(ms),
    close: () => void connected?.then(({ client }) => client.destroy()).catch(() => undefined),
  };
}
