import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { aboveRow, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting } from '../setting.ts';

const messages = 6;
const imagesEach = 10;
const watchMs = 20;

/** Posts a message with `count` images; returns the URLs of its files. */
async function post({ stack }: Setting, seeded: SeededServer, slot: number, image: Buffer, count: number): Promise<string[]> {
  const form = new FormData();
  for (let at = 0; at < count; at++) form.append('files', new Blob([new Uint8Array(image)], { type: 'image/jpeg' }), 'a.jpg');
  const url = `${stack.apiUrl()}/api/channels/${seeded.channelIds[0]}/messages`;
  const response = await fetch(url, { method: 'POST', headers: { Authorization: `Bot ${seeded.bots[slot]?.token}` }, body: form });
  const { attachments } = (await response.json()) as { attachments?: { url: string }[] };
  if (response.status !== 201 || !attachments) throw new Error(`a message was answered ${response.status}`);
  return attachments.map((one) => stack.apiUrl() + new URL(one.url).pathname);
}

/** The time until an image can be loaded, in milliseconds from the start of its upload. */
async function shown(setting: Setting, seeded: SeededServer, image: Buffer): Promise<number> {
  const began = performance.now();
  const [url = ''] = await post(setting, seeded, 1, image, 1);
  while ((await fetch(url, { method: 'HEAD' })).status === 503) await pause(watchMs);
  return performance.now() - began;
}

/** The time for one person's image of 1 megapixel while another account has 60 images of 12 megapixels in the queue, compared with an empty queue. */
export async function fairImageRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 1 });
  try {
    const seeded = await seedServer(setting.platform, { bots: 2, channels: 1 });
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
    const jpeg = (width: number, height: number): Promise<Buffer> =>
      sharp({ create: { width, height, channels: 3, background: 'gray', noise } })
        .blur(3)
        .jpeg({ quality: 60 })
        .toBuffer();
    const [large, small] = await Promise.all([jpeg(4_000, 3_000), jpeg(1_250, 800)]);
    const [ours, without]: [number[], number[]] = [[], []];
    await shown(setting, seeded, small);
    for (let i = 0; i < bench.rounds; i++) {
      without.push(await shown(setting, seeded, small));
      const attack = Array.from({ length: messages }, () => post(setting, seeded, 0, large, imagesEach));
      const all = Promise.all(attack);
      while ((await setting.platform.db.files.countDocuments({ state: 'waiting' })) < messages * imagesEach - 10) await pause(watchMs);
      ours.push(await shown(setting, seeded, small));
      await all;
      while ((await setting.platform.db.files.countDocuments({ state: 'waiting' })) > 0) await pause(watchMs);
    }
    return [aboveRow('image of a person while 60 images of another account wait', 'ms', ours, without, 4_000)];
  } finally {
    await setting.close();
    await rm(setting.config.FILES_DIR, { recursive: true, force: true });
  }
}
