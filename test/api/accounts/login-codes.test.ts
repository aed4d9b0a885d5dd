import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { LoginCode, Me, Session } from '../../../lib/contract/user.ts';
import { newSecret, sha256 } from '../../../lib/store/seal.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { dumpMongo, dumpRedis } from '../../harness/dumps.ts';
import { type Caller, makeApplication, makePerson, refused, send, tally } from '../../harness/factories.ts';

describe('POST /api/auth/codes, POST /api/auth/code', () => {
  let api: TestApi;
  let person: Caller;
  before(async () => {
    api = await startTestApi();
  });
  beforeEach(async () => {
    person = await makePerson(api);
  });
  after(() => api.close());

  const make = (): Promise<LoginCode> => send(api, 201, person, 'POST', '/api/auth/codes');
  const logIn = (code: unknown) => api.call<Session>('POST', '/api/auth/code', { body: { code } });
  const isRefused = (code: string) => refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/code', { code });

  it('200 with the account and a session of its own, and the cookie', async () => {
    const { code, expiresAt } = await make();
    expect(code).to.match(/^[A-Za-z0-9_-]{43}$/);
    expect(Date.parse(expiresAt) - Date.now()).to.be.within(14 * 60_000, 15 * 60_000);
    const { status, headers, body } = await logIn(code);
    expect([status, body.user.id]).to.deep.equal([200, person.id]);
    expect(headers.get('Set-Cookie')).to.contain(`parlance_session=${body.token}; Path=/; HttpOnly; SameSite=Lax`);
    const other = { ...person, as: `Bearer ${body.token}` };
    expect(await send<Me>(api, 200, other, 'GET', '/api/auth/me')).to.deep.equal(body.user);
    await send(api, 204, other, 'POST', '/api/auth/logout');
    await refused(api, [401, 'unauthorized'], other, 'GET', '/api/auth/me');
    await send(api, 200, person, 'GET', '/api/auth/me');
  });

  it('a preview says whose it is and leaves it as it is', async () => {
    const { code, expiresAt } = await make();
    const ask = () => api.call('POST', '/api/auth/codes/preview', { body: { code } });
    const [first, second] = [await ask(), await ask()];
    const { id, username } = person;
    expect(first.body).to.deep.equal({ user: { id, username, displayName: username, avatarUrl: null }, expiresAt });
    expect([first.headers.get('Set-Cookie'), second.status]).to.deep.equal([null, 200]);
    expect((await logIn(code)).status).to.equal(200);
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/codes/preview', { code });
  });

  it('works once, also when 20 use it at once', async () => {
    const { code } = await make();
    expect(tally(await Promise.all(Array.from({ length: 20 }, () => logIn(code))))).to.deep.equal({ 200: 1, 401: 19 });
    expect(await api.platform.db.tokens.countDocuments({ accountId: person.id })).to.equal(2);
  });

  it('401 alike for a code that never was, of another installation, used, too old, cut, of a person who is gone, and for what is none', async () => {
    const [used, old, orphaned, good] = [await make(), await make(), await make(), await make()];
    expect((await logIn(used.code)).status).to.equal(200);
    const { db } = api.platform;
    await db.loginCodes.updateOne({ _id: sha256(old.code) }, { $set: { expiresAt: new Date() } });
    await db.loginCodes.updateOne({ _id: sha256(orphaned.code) }, { $set: { accountId: '1000000000000000001' } });
    const wrong = [newSecret(), used.code, old.code, orphaned.code, good.code.slice(1), sha256(good.code), person.token, '', '$ne'];
    const answers = await Promise.all(wrong.map(isRefused));
    expect(new Set(answers.map(({ message }) => message)).size).to.equal(1);
    expect((await logIn(good.code)).status).to.equal(200);
  });

  it('400 for what is no text', async () => {
    for (const body of [{}, { code: 5 }, { code: { $ne: null } }, { code: null }, [], { code: 'x'.repeat(257) }])
      await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/code', body);
  });

  it('the latest five of a person count, and no more stand when 20 are made at once', async () => {
    const codes: string[] = [];
    for (let i = 0; i < 6; i++) codes.push((await make()).code);
    const [oldest = '', ...latest] = codes;
    await isRefused(oldest);
    const other = await makePerson(api);
    const theirs = await send<LoginCode>(api, 201, other, 'POST', '/api/auth/codes');
    await Promise.all(Array.from({ length: 20 }, make));
    expect(await api.platform.db.loginCodes.countDocuments({ accountId: person.id })).to.equal(5);
    for (const code of latest) await isRefused(code);
    expect((await logIn(theirs.code)).body.user.id).to.equal(other.id);
  });

  it('the same Idempotency-Key gives the same code', async () => {
    const ask = () => api.call<LoginCode>('POST', '/api/auth/codes', { as: person.as, headers: { 'Idempotency-Key': 'k' } });
    const [first, second] = [await ask(), await ask()];
    expect(second.body).to.deep.equal(first.body);
    expect(await api.platform.db.loginCodes.countDocuments({ accountId: person.id })).to.equal(1);
  });

  it('stands in no store, and is gone when it was used', async () => {
    const { body } = await api.call<LoginCode>('POST', '/api/auth/codes', { as: person.as, headers: { 'Idempotency-Key': 'kept' } });
    await logIn((await make()).code);
    const { REDIS_URL, REDIS_PREFIX } = api.platform.config;
    const redis = new Redis(REDIS_URL);
    const dump = (await dumpMongo(api.platform)) + (await dumpRedis(redis, REDIS_PREFIX));
    redis.disconnect();
    expect(dump).to.contain(sha256(body.code)).and.not.contain(body.code);
    await logIn(body.code);
    expect(await api.platform.db.loginCodes.countDocuments({ accountId: person.id })).to.equal(0);
  });

  it('403 bots_not_allowed: a bot makes none', async () => {
    const bot = await makeApplication(api, person);
    await refused(api, [403, 'bots_not_allowed'], bot, 'POST', '/api/auth/codes');
  });

  it('429 rate_limited after 10 tries a minute of an address', async () => {
    const strict = await startTestApi({ RATE_LIMIT: '50/100' });
    try {
      const attempt = () => strict.call('POST', '/api/auth/code', { body: { code: newSecret() } });
      for (let i = 0; i < 10; i++) expect((await attempt()).status).to.equal(401);
      const answer = await attempt();
      expect([answer.status, answer.body.code]).to.deep.equal([429, 'rate_limited']);
    } finally {
      await strict.close();
    }
  });
});
