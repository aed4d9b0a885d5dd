import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { toImageUrl } from '../../../lib/domain/views/image-links.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { type Peer, page, sendPage, startPeer, startSite } from '../../harness/site.ts';
import { aboveRow, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting } from '../setting.ts';

const tarpits = 10;
const messages = 100;
const images = 60;
const watchMs = 20;

/** Posts a message; returns its URL. */
async function post({ stack }: Setting, seeded: SeededServer, slot: number, content: string): Promise<string> {
  const url = `${stack.apiUrl()}/api/channels/${seeded.channelIds[0]}/messages`;
  const headers = { Authorization: `Bot ${seeded.bots[slot]?.token}`, 'Content-Type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ content }) });
  if (response.status !== 201) throw new Error(`a message was answered ${response.status}`);
  return `${url}/${((await response.json()) as { id: string }).id}`;
}

/** The time until a message has its preview, in milliseconds. */
async function previewed(setting: Setting, seeded: SeededServer, link: string): Promise<number> {
  const began = performance.now();
  const url = await post(setting, seeded, 1, link);
  const headers = { Authorization: `Bot ${seeded.bots[1]?.token}` };
  while (((await (await fetch(url, { headers })).json()) as { embeds: unknown[] }).embeds.length === 0) await pause(watchMs);
  return performance.now() - began;
}

const imageUrl = ({ config, stack }: Setting, url: string): string => stack.apiUrl() + toImageUrl(config, url).slice(config.baseUrl.length);

/** The time until an image is loaded, in milliseconds; the request is repeated while the proxy is busy. */
async function loaded(setting: Setting, url: string): Promise<number> {
  const began = performance.now();
  while ((await fetch(imageUrl(setting, url))).status === 503) await pause(watchMs);
  return performance.now() - began;
}

/**
 * The time of a link's preview while another account's links lead to hosts that never answer, and of an image while 60 images of such a host are requested.
 */
export async function fairOutboundRows(bench: Bench): Promise<Row[]> {
  const slow: Peer[] = await Promise.all(Array.from({ length: tarpits }, () => startPeer(() => undefined)));
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(200)]);
  const fast = await startSite(({ url = '' }, response) => (url.endsWith('png') ? response.end(png) : sendPage(response, page(url))));
  const allow = [...slow, fast].map(({ pair }) => pair).join(',');
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 1 }, { OUTBOUND_ALLOW: allow });
  const names = [
    'preview of a link during links to hosts that do not answer',
    'image of a host during requests to one that does not answer',
  ];
  const figures = names.map(() => ({ ours: [] as number[], without: [] as number[] }));
  const [preview, image] = figures as [(typeof figures)[number], (typeof figures)[number]];
  try {
    const seeded = await seedServer(setting.platform, { bots: 2, channels: 1 });
    const slowUrl = (at: number): string => `http://${slow[at % tarpits]?.pair}/${Math.random()}`;
    await previewed(setting, seeded, `${fast.url}/warm`);
    for (let round = 0; round < bench.rounds; round++) {
      preview.without.push(await previewed(setting, seeded, `${fast.url}/a${round}`));
      image.without.push(await loaded(setting, `${fast.url}/a${round}.png`));
      const links = (): string => Array.from({ length: 5 }, (_, at) => slowUrl(at * 2)).join(' ');
      for (let at = 0; at < messages; at++) await post(setting, seeded, 0, links());
      preview.ours.push(await previewed(setting, seeded, `${fast.url}/b${round}`));
      const requested = Array.from({ length: images }, () => fetch(imageUrl(setting, slowUrl(round))));
      await pause(500);
      image.ours.push(await loaded(setting, `${fast.url}/b${round}.png`));
      await Promise.all(requested);
      const pending = { previewsAt: { $exists: true } };
      while ((await setting.platform.db.messages.countDocuments(pending)) > 0) await pause(watchMs);
    }
    return names.map((name, at) => aboveRow(name, 'ms', figures[at]?.ours ?? [], figures[at]?.without ?? [], 1_000));
  } finally {
    await setting.close();
    await Promise.all([...slow, fast].map((peer) => peer.close()));
    await rm(setting.config.FILES_DIR, { recursive: true, force: true });
  }
}
