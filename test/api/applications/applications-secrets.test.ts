import { createDecipheriv } from 'node:crypto';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Application, NewApplication } from '../../../lib/contract/application.ts';
import { interactionTokenOf, seal, unseal } from '../../../lib/store/seal.ts';
import { Client } from '../../gateway/client.ts';
import { reply, startEndpoint, type TestEndpoint } from '../../harness/endpoint.ts';
import {
  type Bot,
  type Caller,
  makeApplication,
  makeBot,
  makePerson,
  makeServer,
  password,
  refused,
  send,
  tally,
} from '../../harness/factories.ts';
import { until } from '../../harness/scene.ts';
import { startWhole, type Whole } from '../../harness/whole.ts';

/** Everything in the database, as text. */
async function dumpDatabase({ platform }: Whole): Promise<string> {
  const { db } = platform.db.accounts;
  const names = (await db.listCollections()).map((one) => one.name);
  const all = await Promise.all(names.map(async (name) => [name, await db.collection(name).find({}).toArray()]));
  return JSON.stringify(all);
}

/** Everything in Redis under the prefix of this test, as text. */
async function dumpRedis({ platform }: Whole): Promise<string> {
  const redis = new Redis(platform.config.REDIS_URL);
  const found: unknown[] = [];
  for await (const keys of redis.scanStream({ match: `*${platform.config.REDIS_PREFIX}*`, count: 1_000 }) as AsyncIterable<string[]>)
    for (const key of keys) {
      const type = await redis.type(key);
      const read: Record<string, () => Promise<unknown>> = {
        string: () => redis.get(key),
        hash: () => redis.hgetall(key),
        list: () => redis.lrange(key, 0, -1),
        set: () => redis.smembers(key),
        zset: () => redis.zrange(key, '0', '-1', 'WITHSCORES'),
        stream: () => redis.xrange(key, '-', '+'),
      };
      found.push([key, type, await read[type]?.()]);
    }
  redis.disconnect();
  return JSON.stringify(found);
}

describe('applications: secrets and tokens', () => {
  let whole: Whole;
  let endpoint: TestEndpoint;
  let owner: Caller;
  const ports = (): number => Number(new URL(whole.gatewayUrl).port);
  before(async () => {
    endpoint = await startEndpoint(reply(200, { type: 'defer' }));
    whole = await startWhole({ OUTBOUND_ALLOW: endpoint.site.pair });
    owner = await makePerson(whole);
  });
  after(async () => {
    await whole.close();
    await endpoint.close();
  });

  it('a dump of the database and of Redis holds no secret and no token, after all that a bot does', async () => {
    const place = await makeServer(whole, owner);
    const headers = { 'Idempotency-Key': 'dump' };
    const made = await whole.call<NewApplication>('POST', '/api/applications', { as: owner.as, body: { name: 'Dumped' }, headers });
    const { id, signingSecret, token: firstToken } = made.body;
    await send(whole, 201, owner, 'POST', `/api/applications/${id}/authorize`, { serverId: place.id, permissions: 15 });
    const { token } = await send<{ token: string }>(whole, 200, owner, 'POST', `/api/applications/${id}/token`);
    const rotated = await send<Application>(whole, 200, owner, 'POST', `/api/applications/${id}/signing-secret`);
    const bot: Caller = { ...owner, as: `Bot ${token}` };
    const socket = new Client(ports());
    await socket.identify(token);
    const commands = [{ name: 'hello', description: 'x' }];
    const [command] = await send<{ id: string }[]>(whole, 200, bot, 'PUT', `/api/applications/${id}/commands`, commands);
    const use = `/api/channels/${place.general}/commands/${command?.id}/invoke`;
    const overGateway = await send<{ id: string }>(whole, 202, owner, 'POST', use, {});
    await socket.until(0, 'INTERACTION_CREATE');
    await send(whole, 200, owner, 'PATCH', `/api/applications/${id}`, { interactionsEndpointUrl: endpoint.url });
    const overHttps = await send<{ id: string }>(whole, 202, owner, 'POST', use, {});
    const of = async (one: string) => (await whole.platform.db.interactions.findOne({ _id: one }).lean())?.delivery?.outcome;
    await until(async () => (await of(overHttps.id)) === 'deferred', 'the delivery');
    const uses = [overGateway.id, overHttps.id].map((one) => interactionTokenOf(whole.platform.config.APP_KEY, one));
    const followup = `/api/interactions/${overHttps.id}/${uses[1]}/followup`;
    const body = { content: 'done' };
    expect((await whole.call('POST', followup, { body, headers: { 'Idempotency-Key': 'follow' } })).status).to.equal(201);
    const [database, redis] = [await dumpDatabase(whole), await dumpRedis(whole)];
    // They hold what they should, so the dumps are whole.
    expect(database).to.include('Dumped').and.include(overHttps.id).and.include(endpoint.url);
    expect(redis).to.include(made.body.bot.id);
    const secrets = { signingSecret, rotated: rotated.signingSecret, firstToken, token, session: owner.token, password };
    for (const [what, secret] of [...Object.entries(secrets), ['use over the gateway', uses[0]], ['use over HTTPS', uses[1]]] as const) {
      const bare = String(secret).split('.').at(-1);
      expect(database.includes(String(bare)), `the database holds ${what}`).to.equal(false);
      expect(redis.includes(String(bare)), `Redis holds ${what}`).to.equal(false);
    }
    await socket.cut();
  });

  it('the signing secret is kept by AES-256-GCM under APP_KEY: read here without our code', async () => {
    const made = await makeApplication(whole, owner);
    const stored = (await whole.platform.db.applications.findOne({ _id: made.applicationId }).lean())?.signingSecret ?? '';
    const bytes = Buffer.from(stored.split('.')[1] ?? '', 'base64url'); // after the key's id
    const key = whole.platform.config.APP_KEY;
    expect(key).to.have.length(32);
    const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 });
    cipher.setAuthTag(bytes.subarray(12, 28));
    expect(Buffer.concat([cipher.update(bytes.subarray(28)), cipher.final()]).toString()).to.equal(made.signingSecret);
  });

  it('two seals of one secret differ; one with any byte changed, cut, or under another key cannot be read; one without a key id can', () => {
    const key = Buffer.alloc(32, 1);
    const keys = { APP_KEY: key, APP_KEYS_OLD: [] };
    const [one, two] = [seal(key, 'secret'), seal(key, 'secret')];
    expect(one).to.not.equal(two);
    expect([unseal(keys, one), unseal(keys, two)]).to.deep.equal(['secret', 'secret']);
    const [id, text = ''] = one.split('.');
    expect(unseal(keys, text)).to.equal('secret');
    const bytes = Buffer.from(text, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(unseal(keys, `${id}.${changed.toString('base64url')}`), `byte ${at}`).to.equal(null);
      expect(unseal(keys, `${id}.${bytes.subarray(0, at).toString('base64url')}`), `the first ${at} bytes`).to.equal(null);
    }
    const other = Buffer.alloc(32, 2);
    expect(unseal({ APP_KEY: other, APP_KEYS_OLD: [] }, one)).to.equal(null);
    expect(unseal({ APP_KEY: other, APP_KEYS_OLD: [key] }, one)).to.equal('secret');
  });

  it('of 10 rotations at once one secret is left, that of an answer', async () => {
    const bot = await makeApplication(whole, owner);
    const rotate = () =>
      whole.call<{ signingSecret: string }>('POST', `/api/applications/${bot.applicationId}/signing-secret`, { as: owner.as });
    const answers = await Promise.all(Array.from({ length: 10 }, rotate));
    expect(tally(answers)).to.deep.equal({ 200: 10 });
    const given = answers.map(({ body }) => body.signingSecret);
    expect(new Set([...given, bot.signingSecret]).size).to.equal(11);
    expect(given).to.include((await send<Application>(whole, 200, owner, 'GET', `/api/applications/${bot.applicationId}`)).signingSecret);
  });

  it('a token reset over HTTP ends requests and sockets of the old one with 4004, and its resume; the new one connects', async () => {
    const place = await makeServer(whole, owner);
    const bot: Bot = await makeBot(whole, owner, place.id, 15);
    const socket = new Client(ports());
    const { d, s } = await socket.identify(bot.token);
    const { token } = await send<{ token: string }>(whole, 200, owner, 'POST', `/api/applications/${bot.applicationId}/token`);
    await refused(whole, [401, 'unauthorized'], bot, 'GET', '/api/auth/me');
    expect(await socket.closed).to.equal(4004);
    const [resumed, identified] = [new Client(ports()), new Client(ports())];
    await resumed.resume(bot.token, d.sessionId, s ?? '');
    expect(await resumed.closed).to.equal(4004);
    await identified.until(10);
    identified.send({ op: 2, d: { token: bot.token } });
    expect(await identified.closed).to.equal(4004);
    await send(whole, 200, { ...bot, as: `Bot ${token}` }, 'GET', '/api/auth/me');
    const fresh = new Client(ports());
    await fresh.identify(token);
    await fresh.cut();
  });
});
