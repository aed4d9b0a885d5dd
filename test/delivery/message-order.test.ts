import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { toTimeoutMs } from '../../lib/store/mongo/insert.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { idClockKey, inFlightKey } from '../../lib/store/redis/horizon.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { createMessageOrder } from '../../lib/store/redis/message-order.ts';
import { startSecondApi, startTestApiWithWorker } from '../harness/api.ts';
import { postMessage } from '../harness/factories.ts';
import { holdNext, withLog } from '../harness/intercept.ts';
import { send } from '../harness/requests.ts';
import { botOf, seedServer } from '../harness/seed.ts';
import { connectRedis } from '../harness/stores.ts';
import { make, use } from '../harness/use.ts';

/** How many writers post, and how many messages each. */
const [writers, postsPerWriter] = [32, 25];

describe('Messages: order of ids', () => {
  const first = use(startTestApiWithWorker);
  const apis = [first, use(() => startSecondApi(first))] as const;
  const redis = use(() => connectRedis(first.platform.config));
  const seeded = make(() => seedServer(first.platform, { bots: 1, channels: 4 }));
  /** The number of one of the two API processes. */
  type At = 0 | 1;

  const channelOf = (channel: number): string => seeded.channelIds[channel] as string;
  const post = (api: At, channel: number, content: string): Promise<Message> =>
    postMessage(apis[api], botOf(seeded), channelOf(channel), content);
  const list = (api: At, channel: number, query = ''): Promise<Message[]> =>
    send(apis[api], 200, botOf(seeded), 'GET', `/api/channels/${channelOf(channel)}/messages${query}`);
  /** Starts to post through the first api. Resolves just before the insert, with a function that makes it. */
  const beginPost = async (channel: number, content: string): Promise<() => Promise<Message>> => {
    const held = holdNext([first.platform.db.messages], ['insertOne']);
    const posted = post(0, channel, content);
    const insert = await held;
    return () => {
      insert();
      return posted;
    };
  };
  /** Expires the ids in flight, as if their processes had died long ago. */
  const expireInFlight = async (channel: number): Promise<void> => {
    const key = inFlightKey(createKeys(first.platform.config.REDIS_PREFIX, 1), channelOf(channel));
    const [entry = '', score = ''] = await redis.zrange(key, '0', '0', 'WITHSCORES');
    await redis.zrem(key, entry);
    await redis.call('zadd', key, score, entry.replace(/^\d+/, '1'));
  };
  /** Relays a channel with the changes of `platform`, and returns the contents in the order in which they were appended. */
  const relayContents = async (channel: number, platform: Partial<WorkerPlatform> = {}): Promise<string[]> => {
    const appended: string[] = [];
    const append: WorkerPlatform['eventLog']['append'] = (place, events) => {
      appended.push(...events.map(({ payload }) => (JSON.parse(payload) as Message).content));
      return first.worker.eventLog.append(place, events);
    };
    await relayEvents(withLog({ ...first.worker, ...platform }, { append }), 'channel', channelOf(channel));
    return appended;
  };

  it('a list waits for a pending insert with a smaller id in another process, and the relay stops before it', async () => {
    const before = await post(1, 1, 'before');
    const insertSlow = await beginPost(1, 'slow');
    const fast = await post(1, 1, 'fast');
    expect(await relayContents(1)).to.deep.equal(['before']);
    let page: Message[] | null = null;
    const listing = list(1, 1).then((one) => {
      page = one;
    });
    expect(await list(1, 2), 'another channel').to.deep.equal([]);
    expect(page).to.equal(null);
    const { id } = await insertSlow();
    await listing;
    expect([before.id, id, fast.id]).to.deep.equal([before.id, id, fast.id].toSorted());
    expect(page).to.have.deep.members([before, await list(1, 1, `?after=${before.id}&limit=1`).then(([one]) => one), fast]);
    expect((await list(1, 1)).map((one) => one.content)).to.deep.equal(['before', 'slow', 'fast']);
    expect(await relayContents(1)).to.deep.equal(['slow', 'fast']);
  });

  it('the relay does not append a message that is posted after it read the horizon', async () => {
    await post(0, 3, 'before');
    const { messageOrder } = first.worker;
    const horizon: typeof messageOrder.horizon = async (channelId) => {
      const read = await messageOrder.horizon(channelId);
      await post(0, 3, 'after');
      return read;
    };
    expect(await relayContents(3, { messageOrder: { ...messageOrder, horizon } })).to.deep.equal(['before']);
    expect(await relayContents(3)).to.deep.equal(['after']);
  });

  it('a process that dies before its insert delays readers and the relay until its id expires', async () => {
    const insertSlow = await beginPost(2, 'lost');
    const fast = await post(1, 2, 'fast');
    expect(await relayContents(2)).to.deep.equal([]);
    const { platform } = apis[1];
    const horizon = await platform.messageOrder.horizon(channelOf(2));
    expect(horizon?.oldest).to.satisfy((oldest: string) => oldest < fast.id);
    await expireInFlight(2);
    expect((await list(1, 2)).map(({ id }) => id)).to.deep.equal([fast.id]);
    expect(await relayContents(2)).to.deep.equal(['fast']);
    await insertSlow();
  });

  it('ids increase after Redis lost the last ones and the clock was set back', async () => {
    const { config, ids } = first.platform;
    const clock = idClockKey(createKeys(config.REDIS_PREFIX, 1), 0);
    const ahead = Date.now() + 60_000;
    ids.markUsed(ahead);
    const posted = [await post(0, 3, 'a'), await post(0, 3, 'b')];
    await redis.hset(clock, 'ms', ahead, 'seq', 0);
    posted.push(await post(0, 3, 'c'));
    expect(posted.map(({ id }) => id)).to.deep.equal([...new Set(posted.map(({ id }) => id))].sort());
  });

  it('answers 503 and inserts nothing when the process was paused until the id may have expired', async () => {
    const { config, ids } = first.platform;
    const order = createMessageOrder(redis, createKeys(config.REDIS_PREFIX, 1), ids, 0);
    const { deadlineMs } = await order.reserve([channelOf(3)]);
    expect(() => toTimeoutMs(deadlineMs))
      .to.throw()
      .with.property('code', 'unavailable');
  });

  it('records only a stored message as the newest one', async () => {
    const { config, ids } = first.platform;
    const order = createMessageOrder(redis, createKeys(config.REDIS_PREFIX, 1), ids, 1);
    const write = async (isStored: boolean): Promise<string> => {
      const reserved = await order.reserve(['1']);
      await order.release(reserved, { isStored });
      return reserved.ids[0] as string;
    };
    const stored = await write(true);
    await write(false);
    expect(await order.newestMessages.read(['1'])).to.deep.equal([stored]);
  });

  it('a reader that pages by `after` gets every message while 32 writers post through two api processes', async () => {
    const total = writers * postsPerWriter;
    const seen: string[] = [];
    let done = 0;
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; n < postsPerWriter; n++) await post(writer % 2 ? 1 : 0, 0, `${writer}:${n}`);
      done++;
    };
    const read = async (): Promise<void> => {
      for (let after = '0000000000000000001', ended = false; ; ) {
        const page = await list(0, 0, `?limit=100&after=${after}`);
        seen.push(...page.map(({ content }) => content));
        after = page.at(-1)?.id ?? after;
        if (ended && page.length === 0) return;
        ended = done === writers;
      }
    };
    await Promise.all([read(), ...Array.from({ length: writers }, (_, writer) => write(writer))]);
    expect(total - new Set(seen).size, 'lost').to.equal(0);
    expect(seen).to.have.length(total);
  });
});
