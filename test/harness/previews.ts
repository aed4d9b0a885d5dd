import type { IncomingMessage, ServerResponse } from 'node:http';
import { createLog } from '../../lib/base/log.ts';
import type { Message } from '../../lib/contract/message.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { type Answer, startTestApi, type TestApi } from './api.ts';
import { type Site, startSite } from './site.ts';
import { makeWorld, type World } from './world.ts';

/** A site whose links get previews, an API, and a worker platform without running queues: a job runs only when a test runs it. */
export interface PreviewScene {
  site: Site;
  api: TestApi;
  worker: WorkerPlatform;
  world: World;
  /** Authorization values. */
  asPerson: string;
  asBot: string;
  channelId: string;
  /** Posts as the person, or as `as`. */
  post(body: unknown, as?: string): Promise<Message>;
  edit(id: string, body: unknown, as?: string): Promise<Answer<Message>>;
  read(id: string): Promise<Message>;
  stored(id: string): Promise<MessageDoc>;
  close(): Promise<void>;
}

/** An HTML page with this title. */
export const page = (title: string): string => `<!doctype html><html><head><title>${title}</title></head><body>text</body></html>`;

/** Sends a page as HTML. */
export const sendPage = (response: ServerResponse, html: string): void => {
  response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
};

/** Starts a scene whose site responds with `handle`; `allow` are further `host:port` pairs of OUTBOUND_ALLOW. */
export async function startPreviewScene(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  allow: readonly string[] = [],
): Promise<PreviewScene> {
  const site = await startSite(handle);
  const api = await startTestApi({ OUTBOUND_ALLOW: [site.pair, ...allow].join(',') });
  const worker = await openWorkerPlatform(api.platform.config, createLog('worker', 'error'));
  const world = await makeWorld(api.platform, { bots: 1, channels: 1 });
  const channelId = world.channelIds[0] as string;
  const path = `/api/channels/${channelId}/messages`;
  const asPerson = `Bearer ${world.ownerToken}`;
  return {
    site,
    api,
    worker,
    world,
    asPerson,
    asBot: `Bot ${world.bots[0]?.token}`,
    channelId,
    post: async (body, as = asPerson) => {
      const answer = await api.call<Message>('POST', path, { as, body });
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      return answer.body;
    },
    edit: (id, body, as = asPerson) => api.call<Message>('PATCH', `${path}/${id}`, { as, body }),
    read: async (id) => (await api.call<Message>('GET', `${path}/${id}`, { as: asPerson })).body,
    stored: async (id) => (await api.platform.db.messages.findOne({ _id: id }).lean()) as MessageDoc,
    async close() {
      await Promise.all([worker.close(), api.close()]);
      await site.close();
    },
  };
}
