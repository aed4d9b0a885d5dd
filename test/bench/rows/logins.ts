import { rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { figure, percentile, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting } from '../setting.ts';

const attackers = 400;
/** How long an attacker waits after a response, in milliseconds: as long as the response requests. */
const repeatMs = 2_000;
const fileBytes = 64 * 1024;
/** How many times slower a victim's request may be during the attack. */
const maxTimes = 10;

interface Request {
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
}

const upload = ({ channelIds, bots }: SeededServer): Request => {
  const head = '--xyz\r\nContent-Disposition: form-data; name="files"; filename="notes.bin"\r\n\r\n';
  return {
    path: `/api/channels/${channelIds[0]}/messages`,
    headers: {
      Authorization: `Bot ${bots[0]?.token}`,
      'Content-Type': 'multipart/form-data; boundary=xyz',
      'X-Forwarded-For': '203.0.113.1',
    },
    body: Buffer.concat([Buffer.from(head), Buffer.alloc(fileBytes, 120), Buffer.from('\r\n--xyz--\r\n')]),
  };
};
const post = ({ channelIds, bots }: SeededServer): Request => ({
  path: `/api/channels/${channelIds[1]}/messages`,
  headers: { Authorization: `Bot ${bots[1]?.token}`, 'Content-Type': 'application/json', 'X-Forwarded-For': '203.0.113.2' },
  body: JSON.stringify({ content: 'a message of a usual length, as people write them' }),
});
/** A login attempt; each `at` has its own username and address. */
const login = (at: number): Request => ({
  path: '/api/auth/login',
  headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': `198.18.${at >> 8}.${at & 255}` },
  body: JSON.stringify({ username: `nobody${at}`, password: 'a wrong password' }),
});

const send = (agent: Agent, url: string, { path, headers, body }: Request): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(url + path, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject);
    sent.end(body);
  });

/** The latencies of one client that sends `what` repeatedly for `seconds` seconds, in milliseconds. Counts responses other than 201 in `failed`. */
async function measureLatencies(url: string, what: Request, seconds: number, failed: { count: number }): Promise<number[]> {
  const agent = new Agent({ keepAlive: true });
  const latencies: number[] = [];
  const endsAt = performance.now() + seconds * 1000;
  while (performance.now() < endsAt) {
    const at = performance.now();
    if ((await send(agent, url, what)) !== 201) failed.count++;
    latencies.push(performance.now() - at);
  }
  agent.destroy();
  return latencies;
}

/** Sends 400 concurrent logins, each from a different address. Each repeats two seconds after its response, until `stop` is called. */
function attack(url: string): { stop: () => Promise<void> } {
  const agent = new Agent({ keepAlive: true });
  let next = 0;
  let running = true;
  const one = async (): Promise<void> => {
    while (running) {
      await send(agent, url, login(next++ % 65_536)).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, repeatMs));
    }
  };
  const all = Promise.all(Array.from({ length: attackers }, one));
  return {
    stop: async () => {
      running = false;
      await all;
      agent.destroy();
    },
  };
}

async function round({ stack }: Setting, what: readonly Request[], seconds: number, failed: { count: number }): Promise<number[]> {
  const latencies = await Promise.all(what.map((one) => measureLatencies(stack.apiUrl(), one, seconds, failed)));
  return latencies.map((one) => percentile(one, 0.99));
}

/** The time of uploads and posts during 400 logins from 400 addresses, compared with the time without them. */
export async function loginRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 }, { TRUST_PROXY: '1', STORE_TIMEOUT_FACTOR: '20' });
  const figures: [during: number[], alone: number[]][] = [
    [[], []],
    [[], []],
  ];
  const failed = { count: 0 };
  try {
    const seeded = await seedServer(setting.platform, { bots: 2, channels: 2 });
    const what = [upload(seeded), post(seeded)];
    await round(setting, what, 1, failed);
    for (let i = 0; i < bench.rounds; i++) {
      const alone = await round(setting, what, bench.seconds, failed);
      const { stop } = attack(setting.stack.apiUrl());
      const during = await round(setting, what, bench.seconds, failed);
      await stop();
      figures.forEach(([one, other], at) => {
        one.push(during[at] ?? 0);
        other.push(alone[at] ?? 0);
      });
    }
  } finally {
    await setting.close();
    await rm(setting.config.FILES_DIR, { recursive: true, force: true });
  }
  return figures.map(([during, alone], at) => {
    const [ours, limit] = [figure(during), figure(alone)];
    const times = ours.median / limit.median;
    return {
      name: `${at === 0 ? 'upload of 64 KiB' : 'POST message'} during 400 logins, p99`,
      unit: 'ms',
      ours,
      limit,
      result: `${times.toFixed(1)} ×${failed.count ? `, ${failed.count} failed` : ''}`,
      aim: `≤ ${maxTimes} ×`,
      met: times <= maxTimes && failed.count === 0,
    };
  });
}
