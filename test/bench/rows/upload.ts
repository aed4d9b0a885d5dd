import { readFile, rm } from 'node:fs/promises';
import { seedServer } from '../../harness/seed.ts';
import { aboveRow, type Row } from '../report.ts';
import { type Bench, openSetting, startHelper } from '../setting.ts';

const uploads = 10;
const filesEach = 10;
const fileBytes = 10 * 1024 * 1024;
const mebibyte = 1024 * 1024;
const watchMs = 20;

/** Resident memory of a process, in MB. */
const residentMb = async (pid: number): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** A multipart body with the files, generated while it is sent, so that it is never whole in memory. */
async function* body(): AsyncGenerator<Uint8Array> {
  const chunk = new Uint8Array(mebibyte).fill(120);
  for (let file = 0; file < filesEach; file++) {
    yield Buffer.from(`--xyz\r\nContent-Disposition: form-data; name="files"; filename="${file}.bin"\r\n\r\n`);
    for (let sent = 0; sent < fileBytes; sent += mebibyte) yield chunk;
    yield Buffer.from('\r\n');
  }
  yield Buffer.from('--xyz--\r\n');
}

async function send(url: string, authorization: string): Promise<void> {
  const headers = { Authorization: authorization, 'Content-Type': 'multipart/form-data; boundary=xyz' };
  const init = { method: 'POST', headers, body: body(), duplex: 'half' };
  const response = await fetch(url, init as RequestInit);
  await response.arrayBuffer();
  if (response.status !== 201) throw new Error(`an upload was answered ${response.status}`);
}

/** The maximum growth of a process while `act` runs, in MB. */
async function measureGrowth(pid: number, act: () => Promise<unknown>): Promise<number> {
  const before = await residentMb(pid);
  let peak = before;
  let running = true;
  const watch = (async () => {
    while (running) {
      peak = Math.max(peak, await residentMb(pid));
      await new Promise((resolve) => setTimeout(resolve, watchMs));
    }
  })();
  await act();
  running = false;
  await watch;
  return peak - before;
}

/** Memory growth of an API process during ten concurrent uploads of 10 × 10 MB, compared with a bare server that only counts the same bytes. Linux only. */
export async function uploadRow(bench: Bench): Promise<Row[]> {
  const [ours, limit]: [number[], number[]] = [[], []];
  for (let i = 0; i < Math.min(3, bench.rounds); i++) {
    const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 });
    const bare = await startHelper('count', {});
    try {
      const seeded = await seedServer(setting.platform, { bots: uploads, channels: 1 });
      const url = `${setting.stack.apiUrl()}/api/channels/${seeded.channelIds[0]}/messages`;
      const authorization = seeded.bots.map((bot) => `Bot ${bot.token}`);
      const uploadAll = (to: string): Promise<unknown> => Promise.all(authorization.map((one) => send(to, one)));
      ours.push(await measureGrowth(setting.stack.apis[0]?.pid() as number, () => uploadAll(url)));
      limit.push(await measureGrowth(bare.child.pid as number, () => uploadAll(`http://127.0.0.1:${bare.port}/`)));
    } finally {
      await bare.close();
      await setting.close();
      await rm(setting.config.FILES_DIR, { recursive: true, force: true });
    }
  }
  return [aboveRow('growth of an api during ten parallel uploads of 10 × 10 MB', 'MB', ours, limit, 64)];
}
