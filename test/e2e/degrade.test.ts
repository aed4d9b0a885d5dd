import { expect } from 'chai';
import { makeApplication, makeInvite, makePerson, makeServer, postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { recordEvents, startParlance } from '../harness/parlance.ts';
import { refused, send } from '../harness/requests.ts';
import { botOf, seedServer } from '../harness/seed.ts';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { make, use } from '../harness/use.ts';

/** A store becomes unavailable while the roles run, and available again (docs/guarantees.md#p10-degraded-operation). */
describe('an unavailable store', () => {
  const { MONGODB_URL, REDIS_URL } = testConfig();
  const [mongo, redis] = [use(() => startTcpProxy(MONGODB_URL, 27017)), use(() => startTcpProxy(REDIS_URL, 6379))];
  const parlance = use(() =>
    startParlance({ MONGODB_URL: mongo.url, REDIS_URL: redis.url, LOG_LEVEL: 'silent', STORE_TIMEOUT_FACTOR: '1' }),
  );
  const seeded = make(() => seedServer(parlance.platform, { bots: 1, channels: 1 }));
  const bot = make(() => recordEvents(parlance, botOf(seeded).token));

  const path = (): string => `/api/channels/${seeded.channelIds[0]}/messages`;
  const post = (content: string, key: string) =>
    parlance.call<{ id: string; code?: string; retryAfter?: number }>('POST', path(), {
      as: botOf(seeded).as,
      body: { content },
      headers: { 'Idempotency-Key': key },
    });
  const postUntilAccepted = async (content: string, key: string): Promise<string> => {
    for (;;) {
      const answer = await post(content, key);
      if (answer.status === 201) return answer.body.id;
      expect([503, 409]).to.include(answer.status);
    }
  };
  const waitFor = (id: string) => bot.waitFor((event) => event.t === 'MESSAGE_CREATE' && event.d.id === id);

  for (const how of ['cut', 'freeze'] as const)
    it(`database connections ${how === 'cut' ? 'cut' : 'frozen'}: 503 unavailable; recovers without a restart and stores no post twice`, async () => {
      await waitFor(await postUntilAccepted('before', `${how}-before`));
      mongo[how]();
      const answer = await post('during', `${how}-during`);
      expect([answer.status, answer.body.code]).to.deep.equal([503, 'unavailable']);
      expect(answer.headers.get('Retry-After')).to.equal('1');
      expect((await parlance.call('GET', path(), { as: botOf(seeded).as })).status).to.equal(503);
      mongo.mend();
      // A frozen post may be stored or not; its key returns the result only after 30 s. A post that was cut off can be repeated with its key.
      const id = await postUntilAccepted('after', `${how}-after`);
      await waitFor(id);
      if (how === 'freeze') return;
      await postUntilAccepted('during', 'cut-during');
      await postUntilAccepted('during', 'cut-during');
      const listed = await parlance.call<{ content: string }[]>('GET', path(), { as: botOf(seeded).as });
      expect(listed.body.filter((one) => one.content === 'during').length).to.equal(1);
    });

  it('Redis connections cut: nobody joins, because sessions could not tell which events come after the join; a join after that receives all', async () => {
    const [owner, person] = [await makePerson(parlance), await makePerson(parlance)];
    const [server, application] = [await makeServer(parlance, owner), await makeApplication(parlance, owner)];
    const { code } = await makeInvite(parlance, owner, server.id, { maxUses: 1 });
    const recorder = await recordEvents(parlance, person.token);
    redis.cut();
    const unavailable = [503, 'unavailable'] as const;
    await refused(parlance, unavailable, person, 'POST', `/api/invites/${code}`);
    await refused(parlance, unavailable, owner, 'POST', '/api/servers', { name: 'another' });
    await refused(parlance, unavailable, owner, 'POST', `/api/applications/${application.applicationId}/authorize`, {
      serverId: server.id,
    });
    redis.mend();
    await waitUntil(() => parlance.platform.isRedisUp(), 'Redis is back');
    await send(parlance, 200, person, 'POST', `/api/invites/${code}`);
    const { id } = await postMessage(parlance, owner, server.general);
    await recorder.waitFor((event) => event.t === 'MESSAGE_CREATE' && event.d.id === id);
    await recorder.client.close();
  });

  it('Redis connections cut: reads and posts succeed, and their events arrive in order when it is back', async () => {
    redis.cut();
    const ids: string[] = [];
    for (const content of ['one', 'two', 'three']) {
      const answer = await post(content, `redis-${content}`);
      expect(answer.status).to.equal(201);
      ids.push(answer.body.id);
    }
    const listed = await parlance.call<{ id: string }[]>('GET', `${path()}?limit=3`, { as: botOf(seeded).as });
    expect(listed.body.map((one) => one.id)).to.deep.equal(ids);
    redis.mend();
    for (const id of ids) await waitFor(id);
    const order = bot.received.filter((event) => ids.includes(String(event.d.id))).map((event) => event.d.id);
    expect(order).to.deep.equal(ids);
  });
});
