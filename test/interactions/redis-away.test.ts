import { expect } from 'chai';
import { sweepInteractions } from '../../lib/domain/jobs/interactions.ts';
import { type InteractionFixture, startInteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';

describe('Interaction: Redis unavailable', () => {
  let fixture: InteractionFixture;
  let redis: TcpProxy;

  before(async () => {
    redis = await startTcpProxy(testConfig().REDIS_URL, 6379);
    fixture = await startInteractionFixture({ REDIS_URL: redis.url, LOG_LEVEL: 'silent' });
  });
  after(async () => {
    await fixture.close();
    await redis.close();
  });

  it('refuses the use of a command with 503; accepts callbacks and follow-ups and relays them later', async () => {
    const ids = [await fixture.use(), await fixture.use()] as const;
    redis.cut();
    await waitUntil(() => !fixture.api.platform.isRedisUp() && !fixture.worker.isRedisUp(), 'the loss of Redis');
    const before = await fixture.api.platform.db.interactions.countDocuments();
    const path = `/api/channels/${fixture.channelId}/commands/${fixture.commands.hello}/invoke`;
    const refused = await fixture.api.call('POST', path, { as: fixture.asPerson, body: {} });
    expect([refused.status, refused.body.code]).to.deep.equal([503, 'unavailable']);
    expect(refused.headers.get('Retry-After')).to.equal('1');
    expect(await fixture.api.platform.db.interactions.countDocuments()).to.equal(before);

    expect((await fixture.send('callback', ids[0], { type: 'message', content: 'x' })).status).to.equal(201);
    expect((await fixture.send('callback', ids[1], { type: 'defer' })).status).to.equal(204);
    for (const id of ids) expect((await fixture.send('followup', id, { content: 'y' })).status).to.equal(201);
    for (const id of ids) await fixture.age(id, 2_000, 'outboxAt');
    const failed = await sweepInteractions(fixture.worker).then(
      () => false,
      () => true,
    );
    expect(failed).to.equal(true);
    for (const id of ids) expect((await fixture.stored(id)).outbox?.length).to.be.greaterThan(0);

    redis.mend();
    await waitUntil(() => fixture.api.platform.isRedisUp() && fixture.worker.isRedisUp() && fixture.gateway.isRedisUp(), 'Redis');
    await waitUntil(async () => {
      await sweepInteractions(fixture.worker).catch(() => undefined);
      return (await Promise.all(ids.map((id) => fixture.stored(id)))).every(({ outbox }) => outbox === undefined);
    }, 'the sweep');
    expect(await fixture.messages()).to.have.length(3);
  });
});
