import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Config } from '../../../config/index.ts';
import type { Blobs, ByteRange } from './store.ts';
import { checkBlobName, createTempFolder, isMissing, storeAndRemove, wrapStoreErrors } from './temp.ts';

type Sdk = typeof import('@aws-sdk/client-s3');

/** How often a call is tried, and the timeouts for the connection and for the response. */
const maxAttempts = 3;
const connectTimeoutMs = 2_000;
const responseTimeoutMs = 10_000;
/** How long a blob's stream may be idle: its reader may pause, as a video player does. */
const idleTimeoutMs = 60_000;

const noop = (): void => undefined;

async function connect(config: Config): Promise<{ sdk: Sdk; client: S3Client }> {
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3Client({
    endpoint: config.S3_ENDPOINT,
    region: 'us-east-1', // accepted by S3-compatible stores without regions
    followRegionRedirects: true,
    forcePathStyle: true,
    credentials: { accessKeyId: config.S3_ACCESS_KEY, secretAccessKey: config.S3_SECRET_KEY },
    maxAttempts: 1, // `retry` repeats the call instead, because the client cannot resend a streamed body
    logger: { trace: noop, debug: noop, info: noop, warn: noop, error: noop }, // by default it writes to the console
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: responseTimeoutMs,
      socketTimeout: idleTimeoutMs,
      throwOnRequestTimeout: true,
    },
  });
  return { sdk, client };
}

const getStatus = (error: unknown): number | undefined =>
  (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;

/** Runs `operation`, and retries it after a failure of the connection or of the store, but not after a refusal (4xx other than 429). */
async function retry<T>(operation: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation();
    } catch (error) {
      const status = getStatus(error);
      const isFinal = (status !== undefined && status < 500 && status !== 429) || isMissing(error);
      if (isFinal || attempt === maxAttempts) throw error;
      await sleep(100 * 4 ** (attempt - 1));
    }
  }
}

/**
 * Stores blobs as objects in the bucket of `config`, with path-style addresses. Temporary files are in `FILES_DIR/incoming`. The S3 client is loaded on first
 * use.
 */
export function openS3Blobs(config: Config): Blobs {
  const temp = createTempFolder(join(resolve(config.FILES_DIR), 'incoming'));
  let connectionPromise: ReturnType<typeof connect> | null = null;
  const getConnection = (): ReturnType<typeof connect> => {
    connectionPromise ??= connect(config);
    return connectionPromise;
  };
  const toObject = (name: string): { Bucket: string; Key: string } => {
    checkBlobName(name);
    return { Bucket: config.S3_BUCKET, Key: name };
  };
  const readObject = async (
    object: { Bucket: string; Key: string },
    range?: ByteRange,
  ): Promise<{ stream: Readable; size: number } | null> => {
    const { sdk, client } = await getConnection();
    const command = new sdk.GetObjectCommand({ ...object, ...(range ? { Range: `bytes=${range.start}-${range.end}` } : {}) });
    try {
      const { Body, ContentLength } = await retry(() => client.send(command));
      return { stream: Body as Readable, size: ContentLength ?? 0 };
    } catch (error) {
      if (getStatus(error) === 404) return null;
      throw error;
    }
  };
  return {
    newTempPath: () => temp.newPath(),
    put: (name, path, contentType) => {
      const object = toObject(name);
      return storeAndRemove(path, async () => {
        const { sdk, client } = await getConnection();
        const { size } = await stat(path);
        await retry(async () => {
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
      const object = toObject(name);
      return wrapStoreErrors(() => readObject(object, range));
    },
    fetch: (name) => {
      const object = toObject(name);
      return wrapStoreErrors(async () => {
        const copy = await temp.newPath();
        return retry(async () => {
          const blob = await readObject(object);
          if (!blob) return null;
          try {
            await pipeline(blob.stream, createWriteStream(copy));
          } catch (error) {
            await rm(copy, { force: true });
            throw error;
          }
          return copy;
        });
      });
    },
    delete: (name) => {
      const object = toObject(name);
      return wrapStoreErrors(async () => {
        const { sdk, client } = await getConnection();
        await retry(() => client.send(new sdk.DeleteObjectCommand(object))).catch((error: unknown) => {
          if (getStatus(error) !== 404) throw error;
        });
      });
    },
    isEmpty: () =>
      wrapStoreErrors(async () => {
        const { sdk, client } = await getConnection();
        const { Contents = [] } = await retry(() => client.send(new sdk.ListObjectsV2Command({ Bucket: config.S3_BUCKET })));
        return Contents.length === 0;
      }),
    removeOldTemp: (minAgeMs) => temp.removeOld(minAgeMs),
    close: () => void connectionPromise?.then(({ client }) => client.destroy()).catch(() => undefined),
  };
}
