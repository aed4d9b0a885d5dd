import { readConfig } from '../../config/index.ts';

/** The public URL of the installation that the environment describes: `BASE_URL`, else that of `npm start` with its `PORT`. */
export function readBaseUrl(): string {
  const stores = { MONGODB_URL: 'mongodb://localhost/x', REDIS_URL: 'redis://localhost', APP_KEY: Buffer.alloc(32).toString('base64') };
  return readConfig({ ...stores, PORT: process.env.PORT, BASE_URL: process.env.BASE_URL }).baseUrl;
}
