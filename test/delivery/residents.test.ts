import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createKeys } from '../../lib/store/log/keys.ts';
import { type Caller, makePerson, makeServer, send } from '../harness/factories.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

/** A busy channel has a worker that stays with it: a post wakes the worker by one command and makes no job. */
describe('a worker that stays with a busy channel', () => {
  let whole: Whole;
  let redis: Redis;
  let owner: Caller;
  let ear: Ear;
  let count = 0;
  before(async () => {
    whole = await startWhole();
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

  it('posts arrive when its subscription is cut', async () => {
    const { general } = await makeServer(whole, owner);
    await sayUntilBusy(general);
    await redis.call('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
    for (let n = 0; n < 5; n++) await say(general);
  });
});
