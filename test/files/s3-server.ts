import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';

interface Server {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}
type Constructor = new (options: object) => Server;
const S3rver = createRequire(import.meta.url)('s3rver') as Constructor;

/** Starts s3rver, an S3-compatible server that checks signatures, on loopback with one bucket; its data lie in `directory`. */
export async function startS3(directory: string): Promise<{ settings: Record<string, string>; close(): Promise<void> }> {
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: 'parlance-files' }],
  });
  const { port } = await server.run();
  return {
    settings: {
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_BUCKET: 'parlance-files',
      S3_ACCESS_KEY: 'S3RVER',
      S3_SECRET_KEY: 'S3RVER',
    },
    close: () => server.close(),
  };
}
