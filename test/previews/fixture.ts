// These tests cover link previews: reading pages, requesting links, adding previews to messages, and edits, crashes and fairness between accounts.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { type MessageCalls, messageCalls, storedMessage } from '../api/messages/message-fixture.ts';
import { startTestApi, startTestApiWithWorker, type TestApi } from '../harness/api.ts';
import type { Caller } from '../harness/requests.ts';
import { botOf, ownerOf, seedServer } from '../harness/seed.ts';
import { type Site, startSite } from '../harness/site.ts';

/** A site whose links get previews, an API with a seeded server, and a worker platform without running queues: a job runs only when a test runs it. */
export interface PreviewFixture extends MessageCalls {
  site: Site;
  api: TestApi;
  worker: WorkerPlatform;
  /** Posts in the fixture's channel, as does `bot`. */
  owner: Caller;
  bot: Caller;
  channelId: string;
  stored(id: string): Promise<MessageDoc>;
  close(): Promise<void>;
}

/** Starts a fixture whose site responds with `handle`; `allow` are further `host:port` pairs of OUTBOUND_ALLOW. */
export async function startPreviewFixture(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  allow: readonly string[] = [],
): Promise<PreviewFixture> {
  const site = await startSite(handle);
  const api = await startTestApiWithWorker(() => startTestApi({ OUTBOUND_ALLOW: [site.pair, ...allow].join(',') }));
  const seeded = await seedServer(api.platform, { bots: 1, channels: 1 });
  const channelId = seeded.channelIds[0] as string;
  const owner = ownerOf(seeded);
  return {
    site,
    api,
    worker: api.worker,
    owner,
    bot: botOf(seeded),
    channelId,
    ...messageCalls(api, { id: channelId }, owner),
    stored: async (id) => (await storedMessage(api, id)) as MessageDoc,
    async close() {
      await api.close();
      await site.close();
    },
  };
}
