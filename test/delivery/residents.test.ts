import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { CommandStartedEvent } from 'mongodb';
import { inFlightKey } from '../../lib/store/redis/horizon.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { type Caller, makePerson, makeServer, send } from '../harness/factories.ts';
import { until } from '../harness/scene.ts';
import { testConfig } from '../harness/stores.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

/** A busy channel has a worker that stays with it: a post wakes the worker by one command and makes no job. */
describe('a worker that stays with a busy channel', () => {
  let whole: Whole;
  let redis: Redis;
  let owner: Caller;
  let ear: Ear;
  let count = 0;
  /** How often the messages of a channel were looked up. */
  const lookUps = new Map<string, number>();
  before(async () => {
    whole = await startWhole({ MONGODB_URL: `${testConfig().MONGODB_URL}&monitorCommands=true` });
    whole.worker.db.messages.db.getClient().on('commandStarted', ({ command }: CommandStartedEvent) => {
      const { channelId, obAt } = (command.filter ?? {}) as { channelId?: string; obAt?: unknown };
      if (command.find === 'messages' && channelId && obAt) lookUps.set(channelId, (lookUps.get(channelId) ?? 0) + 1);
    });
    redis = new Redis(whole.platform.config.REDIS_URL);
    owner = await makePerson(whole);
  });
  after(async () => {
    redis.disconnect();
    await whole.close();
  });
  beforeEach(async () => {
    ear = await listenAs(whole, owner.token);
  });
  afterEach(() => ear.client.close());

  const wakeChannel = (channelId: string): string =>
    `${createKeys(whole.platform.config.REDIS_PREFIX, 1).partition(0)}wake:relay-channel:ch-${channelId}`;
  const residents = async (channelId: string): Promise<number> =>
    ((await redis.pubsub('NUMSUB', wakeChannel(channelId))) as [string, number])[1];
  const jobs = async (): Promise<number> => Number(await redis.get(`{${whole.platform.config.REDIS_PREFIX}-queue-relay}:relay:id`));
  /** Posts and waits for the event. */
  const say = async (channelId: string): Promise<void> => {
    const content = `post ${count++}`;
    await send(whole, 201, owner, 'POST', `/api/channels/${channelId}/messages`, { content });
    await ear.hears(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content);
  };
  /** Posts until a worker stays with the channel. */
  const sayUntilBusy = async (channelId: string): Promise<void> => {
    while ((await residents(channelId)) === 0) await say(channelId);
  };

  it('relays posts without jobs, leaves when it is quiet, and posts arrive after that too', async () => {
    const { general } = await makeServer(whole, owner);
    await sayUntilBusy(general);
    const before = await jobs();
    for (let n = 0; n < 5; n++) await say(general);
    expect(await jobs()).to.equal(before);
    await until(async () => (await residents(general)) === 0, 'the worker left');
    await say(general);
    expect(await jobs()).to.be.greaterThan(before);
  });

  it('relays posts without reading them from the database; other changes of messages are read', async () => {
    const { general } = await makeServer(whole, owner);
    await sayUntilBusy(general);
    await say(general);
    const before = lookUps.get(general);
    for (let n = 0; n < 5; n++) await say(general);
    expect(lookUps.get(general)).to.equal(before);
    const long = `a${'\u0002'.repeat(1_999)}`; // six characters each in JSON
    const { id } = await send<{ id: string }>(whole, 201, owner, 'POST', `/api/channels/${general}/messages`, { content: long });
    await ear.hears(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === long);
    await send(whole, 200, owner, 'PATCH', `/api/channels/${general}/messages/${id}`, { content: 'short' });
    await ear.hears(({ t, d }) => t === 'MESSAGE_UPDATE' && d.content === 'short');
    expect(lookUps.get(general)).to.be.greaterThan(before as number);
  });

  it('relays a post of a process that died before it could tell, ahead of those after it', async () => {
    const { general } = await makeServer(whole, owner);
    await sayUntilBusy(general);
    await say(general);
    const { db, ids, messageOrder, config } = whole.platform;
    const died = Object.assign(new Error('the process died'), { name: 'MongoNetworkError' });
    const write = messageOrder.write([general], async ([id]) => {
      const last = await db.messages.collection.findOne({ channelId: general });
      const ob = [{ id: ids.next(), name: 'MESSAGE_CREATE' }];
      await db.messages.collection.insertOne({ ...last, _id: id as never, content: 'lost end', ob, obAt: new Date() });
      throw died;
    });
    expect(await write.catch((error: unknown) => error)).to.equal(died);
    await send(whole, 201, owner, 'POST', `/api/channels/${general}/messages`, { content: 'waits' });
    await redis.del(inFlightKey(createKeys(config.REDIS_PREFIX, 1), general));
    await say(general);
    const contents = ear.heard.filter(({ t, d }) => t === 'MESSAGE_CREATE' && d.channelId === general).map(({ d }) => d.content);
    expect(contents.slice(-3)).to.deep.equal(['lost end', 'waits', `post ${count - 1}`]);
  });

  it('posts arrive when its subscription is cut', async () => {
    const { general } = await makeServer(whole, owner);
    await sayUntilBusy(general);
    await redis.call('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
    for (let n = 0; n < 5; n++) await say(general);
  });
});
