import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { isAlive } from '../../apps/local/lock.ts';
import { makeFolder } from '../harness/folder.ts';
import { use } from '../harness/use.ts';

/** Starts `npm run stores` with its own data folder; returns the URLs that it prints. */
async function startMain(dataDir: string): Promise<{ main: ChildProcess; urls: string[] }> {
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    PARLANCE_CACHE: process.env.PARLANCE_CACHE ?? join(process.cwd(), '.data/runtime'),
    PARLANCE_MONGO: 'documentdb',
  };
  const main = spawn(process.execPath, ['--import', 'tsx', 'apps/local/stores-main.ts'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const urls: string[] = [];
  let errors = '';
  main.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  if (!main.stdout) throw new Error('no output');
  for await (const line of createInterface({ input: main.stdout })) if (urls.push(line) === 2) return { main, urls };
  throw new Error(errors);
}

/** The processes whose environment has this DATA_DIR. */
async function processesOf(dataDir: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const folder = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
    if (folder.split('\0').includes(`DATA_DIR=${dataDir}`)) found.push(Number(name));
  }
  return found;
}

describe('npm run stores', () => {
  const folder = use(makeFolder);

  for (const [signal, what] of [
    ['SIGINT', 'Ctrl-C'],
    ['SIGKILL', 'SIGKILL of the parent'],
  ] as const)
    it(`prints two URLs, and leaves no process after ${what}`, async () => {
      const dataDir = folder.path;
      const { main, urls } = await startMain(dataDir);
      expect(urls[0]).to.match(/^MONGODB_URL=mongodb:\/\/%2F[^/]+gateway\.sock\/\?directConnection=true&retryWrites=false$/);
      expect(urls[1]).to.match(/^REDIS_URL=redis:\/\/(?::[\w-]+@)?127\.0\.0\.1:\d+$/);
      const pids = await processesOf(dataDir);
      expect(pids.length).to.be.greaterThan(4);
      main.kill(signal);
      await once(main, 'exit');
      while (pids.some(isAlive)) await new Promise((done) => setTimeout(done, 20));
      expect(await processesOf(dataDir)).to.deep.equal([]);
      expect(await readdir(join(dataDir, 'documentdb/data'))).not.to.include('postmaster.pid');
    });
});
