import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createLog } from '../../lib/base/log.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { idClockKey, inFlightKey } from '../../lib/store/redis/horizon.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { createMessageOrder } from '../../lib/store/redis/message-order.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { around } from '../harness/around.ts';
import { makeWorld, type World } from '../harness/world.ts';

/** How many writers post, and how many messages each. */
const [writers, each] = [32, 25];

describe('the order of messages', () => {
  const apis: TestApi[] = [];
  let worker: WorkerPlatform;
  let world: World;
  let redis: Redis;

  before(async () => {
    apis.push(await startTestApi());
    const { MONGODB_URL, REDIS_PREFIX } = (apis[0] as TestApi).platform.config;
    apis.push(await startTestApi({ MONGODB_URL, REDIS_PREFIX }));
    worker = await openWorkerPlatform((apis[0] as TestApi).platform.config, createLog('test', 'silent'));
    redis = new Redis((apis[0] as TestApi).platform.config.REDIS_URL);
    world = await makeWorld((apis[0] as TestApi).platform, { bots: 1, channels: 4 });
  });
  after(async () => {
    redis.disconnect();
    await worker.close();
    for (const api of apis.toReversed()) await api.close();
  });

  interface Shown {
    id: string;
    content: string;
  }
  const as = (): string => `Bot ${world.bots[0]?.token}`;
  const pathOf = (channel: number): string => `/api/channels/${world.channelIds[channel]}/messages`;
  const post = async (api: number, channel: number, content: string): Promise<Shown> => {
    const { status, body } = await (apis[api] as TestApi).call<Shown & { message: string }>('POST', pathOf(channel), {
      as: as(),
      body: { content },
    });
    expect(status, body.message).to.equal(201);
    return body;
  };
  const list = async (api: number, channel: number, query = ''): Promise<Shown[]> => {
    const { status, body } = await (apis[api] as TestApi).call<Shown[]>('GET', pathOf(channel) + query, { as: as() });
    expect(status).to.equal(200);
    return body;
  };
  /** Begins to post through the first api. Resolves when the insert is about to be made, to what makes it. */
  const beginPost = (channel: number, content: string): Promise<{ go: () => Promise<Shown> }> =>
    new Promise((reached) => {
      around((apis[0] as TestApi).platform.db.messages.collection, 'insertOne', async (insert) => {
        await new Promise<void>((open) => {
          reached({
            go: () => {
              open();
              return posted;
            },
          });
        });
        return insert();
      });
      const posted = post(0, channel, content);
    });
  /** Ends the time of the ids in flight, as if their processes had died long ago. */
  const expireInFlight = async (channel: number): Promise<void> => {
    const key = inFlightKey(createKeys((apis[0] as TestApi).platform.config.REDIS_PREFIX, 1), world.channelIds[channel] as string);
    const [entry = '', score = ''] = await redis.zrange(key, '0', '0', 'WITHSCORES');
    await redis.zrem(key, entry);
    await redis.call('zadd', key, score, entry.replace(/^\d+/, '1'));
  };
  /** Relays a channel; answers the contents in the order in which they were appended. */
  const relayed = async (channel: number): Promise<string[]> => {
    const appended: string[] = [];
    const append: WorkerPlatform['append'] = (place, events) => {
      appended.push(...events.map(({ payload }) => (JSON.parse(payload) as Shown).content));
      return worker.append(place, events);
    };
    await relay({ ...worker, append }, 'channel', world.channelIds[channel] as string);
    return appended;
  };

  it('a list waits for an insert with a smaller id that is under way in another process, and the relay goes up to it', async () => {
    const before = await post(1, 1, 'before');
    const slow = await beginPost(1, 'slow');
    const fast = await post(1, 1, 'fast');
    expect(await relayed(1)).to.deep.equal(['before']);
    let page: Shown[] | null = null;
    const listing = list(1, 1).then((one) => {
      page = one;
    });
    expect(await list(1, 2), 'another channel').to.deep.equal([]);
    expect(page).to.equal(null);
    const { id } = await slow.go();
    await listing;
    expect([before.id, id, fast.id]).to.deep.equal([before.id, id, fast.id].toSorted());
    expect(page).to.have.deep.members([before, await list(1, 1, `?after=${before.id}&limit=1`).then(([one]) => one), fast]);
    expect((await list(1, 1)).map((one) => one.content)).to.deep.equal(['before', 'slow', 'fast']);
    expect(await relayed(1)).to.deep.equal(['slow', 'fast']);
  });

  it('a process that dies before its insert holds up readers and the relay until its id expires', async () => {
    const slow = await beginPost(2, 'lost');
    const fast = await post(1, 2, 'fast');
    expect(await relayed(2)).to.deep.equal([]);
    const { platform } = apis[1] as TestApi;
    const horizon = await platform.messageOrder.horizon(world.channelIds[2] as string);
    expect(horizon?.oldest).to.satisfy((oldest: string) => oldest < fast.id);
    await expireInFlight(2);
    expect((await list(1, 2)).map(({ id }) => id)).to.deep.equal([fast.id]);
    expect(await relayed(2)).to.deep.equal(['fast']);
    await slow.go();
  });

  it('ids go on where they were when Redis has lost the last ones while the clock was set back', async () => {
    const { config, ids } = (apis[0] as TestApi).platform;
    const clock = idClockKey(createKeys(config.REDIS_PREFIX, 1), 0);
    const ahead = Date.now() + 60_000;
    ids.note(ahead);
    const posted = [await post(0, 3, 'a'), await post(0, 3, 'b')];
    await redis.hset(clock, 'ms', ahead, 'seq', 0);
    posted.push(await post(0, 3, 'c'));
    expect(posted.map(({ id }) => id)).to.deep.equal([...new Set(posted.map(({ id }) => id))].sort());
  });

  it('503 and no insert when the process was paused for so long that the id may have expired', async () => {
    const { config, ids } = (apis[0] as TestApi).platform;
    const order = createMessageOrder(redis, createKeys(config.REDIS_PREFIX, 1), ids, 0);
    const fault = await order
      .write([world.channelIds[3] as string], async (_ids, within) => ({ result: within(), isStored: false }))
      .catch((error: unknown) => error);
    expect(fault).to.have.property('code', 'unavailable');
  });

  it('notes as the newest message what was stored, and nothing else', async () => {
    const { config, ids } = (apis[0] as TestApi).platform;
    const order = createMessageOrder(redis, createKeys(config.REDIS_PREFIX, 1), ids, 1);
    const write = async (isStored: boolean): Promise<string> => {
      const { result, released } = await order.write(['1'], async ([id]) => ({ result: id as string, isStored }));
      await released;
      return result;
    };
    const stored = await write(true);
    await write(false);
    expect(await order.newest.read(['1'])).to.deep.equal([stored]);
  });

  it('a reader by `after` gets every message, while 32 writers post through two api processes', async () => {
    const total = writers * each;
    const seen: string[] = [];
    let done = 0;
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; n < each; n++) await post(writer % 2, 0, `${writer}:${n}`);
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
