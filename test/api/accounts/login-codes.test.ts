import { expect } from 'chai';
import type { LoginCode, Session } from '../../../lib/contract/auth.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { createSecret, sha256 } from '../../../lib/store/seal.ts';
import { startTestApi } from '../../harness/api.ts';
import { dumpStores } from '../../harness/dumps.ts';
import { makeApplication, makePerson } from '../../harness/factories.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';

describe('POST /api/auth/codes, POST /api/auth/code', () => {
  const api = use(startTestApi);
  const person = make(() => makePerson(api), { each: true });

  const makeCode = (as = person): Promise<LoginCode> => send(api, 201, as, 'POST', '/api/auth/codes');
  const logIn = (code: unknown) => api.call<Session>('POST', '/api/auth/code', { body: { code } });
  const isRefused = (code: string) => refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/code', { code });

  it('200 with the account, a new session and the session cookie', async () => {
    const { code, expiresAt } = await makeCode();
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

  it('a preview returns the code’s account and expiry, and does not use the code up', async () => {
    const { code, expiresAt } = await makeCode();
    const ask = () => api.call('POST', '/api/auth/codes/preview', { body: { code } });
    const [first, second] = [await ask(), await ask()];
    const { id, username } = person;
    expect(first.body).to.deep.equal({ user: { id, username, displayName: username, avatarUrl: null }, expiresAt });
    expect([first.headers.get('Set-Cookie'), second.status]).to.deep.equal([null, 200]);
    expect((await logIn(code)).status).to.equal(200);
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/codes/preview', { code });
  });

  it('works once, also in 20 concurrent requests', async () => {
    const { code } = await makeCode();
    expect(tally(await inParallel(20, () => logIn(code)))).to.deep.equal({ 200: 1, 401: 19 });
    expect(await api.platform.db.tokens.countDocuments({ accountId: person.id })).to.equal(2);
  });

  it('the same 401 for a code that is unknown, used, expired or cut, of a deleted person, and for text that is no code', async () => {
    const [used, old, orphaned, good] = [await makeCode(), await makeCode(), await makeCode(), await makeCode()];
    expect((await logIn(used.code)).status).to.equal(200);
    const { db } = api.platform;
    await db.loginCodes.updateOne({ _id: sha256(old.code) }, { $set: { expiresAt: new Date() } });
    await db.loginCodes.updateOne({ _id: sha256(orphaned.code) }, { $set: { accountId: '1000000000000000001' } });
    const wrong = [createSecret(), used.code, old.code, orphaned.code, good.code.slice(1), sha256(good.code), person.token, '', '$ne'];
    const answers = await Promise.all(wrong.map(isRefused));
    expect(new Set(answers.map(({ message }) => message)).size).to.equal(1);
    expect((await logIn(good.code)).status).to.equal(200);
  });

  it('400 invalid_request for a missing code and for one that is no text or too long', async () => {
    for (const body of [{}, { code: 5 }, { code: { $ne: null } }, { code: null }, [], { code: 'x'.repeat(257) }])
      await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/code', body);
  });

  it('only the latest five codes of a person are valid, also after 20 concurrent requests', async () => {
    const codes: string[] = [];
    for (let i = 0; i < 6; i++) codes.push((await makeCode()).code);
    const [oldest = '', ...latest] = codes;
    await isRefused(oldest);
    const other = await makePerson(api);
    const otherCode = await makeCode(other);
    await inParallel(20, () => makeCode());
    expect(await api.platform.db.loginCodes.countDocuments({ accountId: person.id })).to.equal(5);
    for (const code of latest) await isRefused(code);
    expect((await logIn(otherCode.code)).body.user.id).to.equal(other.id);
  });

  it('returns the same code for the same Idempotency-Key', async () => {
    const ask = () => api.call<LoginCode>('POST', '/api/auth/codes', { as: person.as, headers: { 'Idempotency-Key': 'k' } });
    const [first, second] = [await ask(), await ask()];
    expect(second.body).to.deep.equal(first.body);
    expect(await api.platform.db.loginCodes.countDocuments({ accountId: person.id })).to.equal(1);
  });

  it('is stored only as a hash, and deleted when it is used', async () => {
    const { body } = await api.call<LoginCode>('POST', '/api/auth/codes', { as: person.as, headers: { 'Idempotency-Key': 'kept' } });
    await logIn((await makeCode()).code);
    const { database, redis } = await dumpStores(api.platform);
    expect(database + redis)
      .to.contain(sha256(body.code))
      .and.not.contain(body.code);
    await logIn(body.code);
    expect(await api.platform.db.loginCodes.countDocuments({ accountId: person.id })).to.equal(0);
  });

  it('403 bots_not_allowed for a bot', async () => {
    const bot = await makeApplication(api, person);
    await refused(api, [403, 'bots_not_allowed'], bot, 'POST', '/api/auth/codes');
  });

  it('429 rate_limited after 10 attempts a minute from one address', async () => {
    const strict = await startTestApi({ RATE_LIMIT: '50/100' });
    try {
      const attempt = () => strict.call('POST', '/api/auth/code', { body: { code: createSecret() } });
      for (let i = 0; i < 10; i++) expect((await attempt()).status).to.equal(401);
      const answer = await attempt();
      expect([answer.status, answer.body.code]).to.deep.equal([429, 'rate_limited']);
    } finally {
      await strict.close();
    }
  });
});
