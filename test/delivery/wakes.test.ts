import { expect } from 'chai';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { inFlightKey } from '../../lib/store/redis/horizon.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { monitoredUrl, onDatabaseCommand } from '../harness/commands.ts';
import { makeServer, postMessage } from '../harness/factories.ts';
import { startParlance, useRecorder } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { connectRedis, testConfig } from '../harness/stores.ts';
import { use, useServer } from '../harness/use.ts';

/** The owner of a channel is woken by each post, with the message. */
describe('relay: wakes of the owner of a channel', () => {
  const { api: parlance, owner } = useServer({}, { start: () => startParlance({ MONGODB_URL: monitoredUrl(testConfig().MONGODB_URL) }) });
  const redis = use(() => connectRedis(parlance.platform.config));
  const recorder = useRecorder(parlance, owner, undefined, { each: true });
  let count = 0;
  /** How often the pending messages of each channel were read. */
  const lookUps = new Map<string, number>();
  before(() =>
    onDatabaseCommand(parlance.worker, ({ command }) => {
      const { channelId, outboxAt } = (command.filter ?? {}) as { channelId?: string; outboxAt?: unknown };
      if (command.find === 'messages' && channelId && outboxAt) lookUps.set(channelId, (lookUps.get(channelId) ?? 0) + 1);
    }),
  );

  /** Posts and waits for the event. */
  const postAndWait = async (channelId: string): Promise<void> => {
    const content = `post ${count++}`;
    await postMessage(parlance, owner, channelId, content);
    await recorder.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content);
  };
  it('reads messages from the database for other changes, not for posts', async () => {
    const { general } = await makeServer(parlance, owner);
    await postAndWait(general);
    const before = lookUps.get(general);
    for (let n = 0; n < 5; n++) await postAndWait(general);
    expect(lookUps.get(general)).to.equal(before);
    const long = `a${'\u0002'.repeat(1_999)}`; // each is six characters in JSON
    const { id } = await postMessage(parlance, owner, general, long);
    await recorder.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === long);
    await send(parlance, 200, owner, 'PATCH', `/api/channels/${general}/messages/${id}`, { content: 'short' });
    await recorder.waitFor(({ t, d }) => t === 'MESSAGE_UPDATE' && d.content === 'short');
    expect(lookUps.get(general)).to.be.greaterThan(before as number);
  });

  it('relays a post of a process that died before the wake, ahead of later posts', async () => {
    const { general } = await makeServer(parlance, owner);
    await postAndWait(general);
    const { db, ids, messageOrder, config } = parlance.platform;
    const [id] = (await messageOrder.reserve([general])).ids; // it is not released
    const last = await db.messages.findOne({ channelId: general });
    const outbox = [{ id: ids.next(), name: 'MESSAGE_CREATE' as const }];
    await db.messages.insertOne({ ...(last as MessageDoc), _id: id as string, content: 'lost end', outbox, outboxAt: new Date() });
    await postMessage(parlance, owner, general, 'waits');
    await redis.del(inFlightKey(createKeys(config.REDIS_PREFIX, 1), general));
    await postAndWait(general);
    const contents = recorder.received.filter(({ t, d }) => t === 'MESSAGE_CREATE' && d.channelId === general).map(({ d }) => d.content);
    expect(contents.slice(-3)).to.deep.equal(['lost end', 'waits', `post ${count - 1}`]);
  });

  it('posts arrive after its subscription was cut', async () => {
    const { general } = await makeServer(parlance, owner);
    await postAndWait(general);
    await redis.call('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
    for (let n = 0; n < 5; n++) await postAndWait(general);
  });
});
