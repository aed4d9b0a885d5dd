import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';

interface Server {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}
type Constructor = new (options: object) => Server;
const S3rver = createRequire(import.meta.url)('s3rver') as Constructor;

/** Where an API stores its files. */
export interface BlobBackend {
  /** The settings that select it. */
  settings: Record<string, string>;
  /** Has no effect the second time. */
  close(): Promise<void>;
}

/** Starts s3rver, an S3-compatible server that checks signatures, on loopback with one bucket. It stores its data in `directory`. */
export async function startS3(directory: string): Promise<BlobBackend> {
  const bucket = 'parlance-files';
  const server = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory, configureBuckets: [{ name: bucket }] });
  const { port } = await server.run();
  let closing: Promise<void> | undefined;
  return {
    settings: { S3_ENDPOINT: `http://127.0.0.1:${port}`, S3_BUCKET: bucket, S3_ACCESS_KEY: 'S3RVER', S3_SECRET_KEY: 'S3RVER' },
    close: () => (closing ??= server.close()),
  };
}
