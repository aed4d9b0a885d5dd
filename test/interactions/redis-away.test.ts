import { expect } from 'chai';
import { sweepInteractions } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { type Scene, startScene, until } from '../harness/scene.ts';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';

describe('Interaction: Redis away', () => {
  let scene: Scene;
  let redis: TcpProxy;

  before(async () => {
    redis = await startTcpProxy(testConfig().REDIS_URL, 6379);
    scene = await startScene({ REDIS_URL: redis.url, LOG_LEVEL: 'silent' });
  });
  after(async () => {
    await scene.close();
    await redis.close();
  });

  it('using a command is 503 and makes nothing; callbacks and follow-ups work, and are told later', async () => {
    const ids = [await scene.use(), await scene.use()] as const;
    redis.cut();
    await until(() => !scene.api.platform.redisUp() && !scene.worker.redisUp(), 'the loss of Redis');
    const before = await scene.api.platform.db.interactions.countDocuments();
    const path = `/api/channels/${scene.channelId}/commands/${scene.commands.hello}/invoke`;
    const refused = await scene.api.call('POST', path, { as: scene.asPerson, body: {} });
    expect([refused.status, refused.body.code]).to.deep.equal([503, 'unavailable']);
    expect(refused.headers.get('Retry-After')).to.equal('1');
    expect(await scene.api.platform.db.interactions.countDocuments()).to.equal(before);

    expect((await scene.send('callback', ids[0], { type: 'message', content: 'x' })).status).to.equal(201);
    expect((await scene.send('callback', ids[1], { type: 'defer' })).status).to.equal(204);
    for (const id of ids) expect((await scene.send('followup', id, { content: 'y' })).status).to.equal(201);
    for (const id of ids) await scene.age(id, 2_000, 'obAt');
    const failed = await sweepInteractions(scene.worker).then(
      () => false,
      () => true,
    );
    expect(failed).to.equal(true);
    for (const id of ids) expect((await scene.stored(id)).ob?.length).to.be.greaterThan(0);

    redis.mend();
    await until(() => scene.api.platform.redisUp() && scene.worker.redisUp() && scene.gateway.redisUp(), 'Redis');
    await until(async () => {
      await sweepInteractions(scene.worker).catch(() => undefined);
      return (await Promise.all(ids.map((id) => scene.stored(id)))).every(({ ob }) => ob === undefined);
    }, 'the sweep');
    expect(await scene.messages()).to.have.length(3);
  });
});
