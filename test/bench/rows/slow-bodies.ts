import { type ClientRequest, request } from 'node:http';
import type { Webhook } from '../../../lib/contract/webhook.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { multipleRow, percentile, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting } from '../setting.ts';

const multipart = 'multipart/form-data; boundary=xyz';
const part = '--xyz\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n';
/** The maximum time of one of the victim's requests; a request that is not done by then counts with this time. */
const maxMs = 60_000;

/** A request: its URL, headers, body and source address. */
interface Sent {
  url: string;
  headers: Record<string, string>;
  body: string;
  from: string;
}

/** Sends a whole request repeatedly until it is accepted, as a client that follows Retry-After does. Returns the total time in milliseconds. */
async function timeOf({ url, headers, body, from }: Sent): Promise<number> {
  const began = performance.now();
  const passed = (): number => performance.now() - began;
  const once = (): Promise<{ status: number; retryAfterSecs: number }> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers, localAddress: from, agent: false }, (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, retryAfterSecs: Number(response.headers['retry-after'] ?? 1) });
      });
      sent.once('error', reject);
      sent.setTimeout(maxMs, () => sent.destroy(new Error('no answer')));
      sent.end(body);
    });
  while (passed() < maxMs) {
    const { status, retryAfterSecs } = await once().catch(() => ({ status: 0, retryAfterSecs: 1 }));
    if (status >= 200 && status < 300) return passed();
    await new Promise((resolve) => setTimeout(resolve, retryAfterSecs * 1000));
  }
  return maxMs;
}

/** Sends requests whose body never ends: one byte at once, and one more every 10 s. Each request that ends is started again, until `stop` is called. */
function attack(all: readonly Omit<Sent, 'body'>[]): { stop: () => void } {
  let running = true;
  const open = new Set<ClientRequest>();
  const start = (one: Omit<Sent, 'body'>): void => {
    if (!running) return;
    const headers = { ...one.headers, 'Content-Length': '1000000' };
    const sent = request(one.url, { method: 'POST', headers, localAddress: one.from, agent: false }, (response) => response.resume());
    const trickle = setInterval(() => sent.write('x'), 10_000);
    sent.once('error', () => undefined);
    sent.once('close', () => {
      clearInterval(trickle);
      open.delete(sent);
      setTimeout(() => start(one), 100);
    });
    open.add(sent);
    sent.write('-');
  };
  for (const one of all) start(one);
  return {
    stop: () => {
      running = false;
      for (const sent of open) sent.destroy();
    },
  };
}

/** The p99 time of the victim's requests, sent one after another for `bench.seconds`, without and with the attack. */
async function row(bench: Bench, name: string, victim: Sent, attackers: readonly Omit<Sent, 'body'>[]): Promise<Row> {
  const measure = async (): Promise<number> => {
    const endsAt = performance.now() + bench.seconds * 1000;
    const times: number[] = [];
    while (performance.now() < endsAt) times.push(await timeOf(victim));
    return percentile(times, 0.99);
  };
  await measure();
  const [ours, limit]: [number[], number[]] = [[], []];
  for (let round = 0; round < bench.rounds; round++) {
    limit.push(await measure());
    const { stop } = attack(attackers);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    ours.push(await measure());
    stop();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    bench.log(`  ${name}: ${ours.at(-1)?.toFixed(1)} ms with the attack, ${limit.at(-1)?.toFixed(1)} ms without`);
  }
  return multipleRow(name, 'ms', ours, limit, 3);
}

async function makeHooks({ stack }: Setting, seeded: SeededServer, count: number): Promise<string[]> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${seeded.ownerToken}` };
  const urls: string[] = [];
  for (let n = 0; n < count; n++) {
    const url = `${stack.apiUrl()}/api/channels/${seeded.channelIds[n % seeded.channelIds.length]}/webhooks`;
    const made = (await (await fetch(url, { method: 'POST', headers, body: '{"name":"code host"}' })).json()) as Webhook;
    urls.push(`${stack.apiUrl()}/api/webhooks/${made.id}/${made.token}/codehost`);
  }
  return urls;
}

/**
 * A victim's code-host deliveries during 48 one-byte bodies to 12 webhooks of another server, and a victim's uploads during 40 one-byte uploads of four
 * accounts. Victim and attackers have different addresses.
 */
export async function slowBodyRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 });
  try {
    const [attacker, victim] = [
      await seedServer(setting.platform, { bots: 4, channels: 12 }),
      await seedServer(setting.platform, { bots: 1, channels: 1 }),
    ];
    const delivery = { 'Content-Type': 'application/json', 'X-GitHub-Event': 'star' };
    const [own = ''] = await makeHooks(setting, victim, 1);
    const hooks = await makeHooks(setting, attacker, 12);
    const slowDeliveries = Array.from({ length: 48 }, (_, n) => ({ url: hooks[n % 12] as string, headers: delivery, from: '127.0.0.2' }));
    const upload = (seeded: SeededServer, bot: number) => ({
      url: `${setting.stack.apiUrl()}/api/channels/${seeded.channelIds[0]}/messages`,
      headers: { 'Content-Type': multipart, Authorization: `Bot ${seeded.bots[bot]?.token}` },
    });
    const slowUploads = Array.from({ length: 40 }, (_, n) => ({ ...upload(attacker, n % 4), from: '127.0.0.2' }));
    return [
      await row(
        bench,
        'code-host delivery during 48 one-byte bodies, p99',
        { url: own, headers: delivery, body: '{"action":"created"}', from: '127.0.0.3' },
        slowDeliveries,
      ),
      await row(
        bench,
        'upload during 40 one-byte uploads of four accounts, p99',
        { ...upload(victim, 0), body: `${part}x\r\n--xyz--\r\n`, from: '127.0.0.3' },
        slowUploads,
      ),
    ];
  } finally {
    await setting.close();
  }
}
