import { expect } from 'chai';
import type { LoginCode, Session } from '../../../lib/contract/auth.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { createPasswordReset } from '../../../lib/domain/accounts/password-resets.ts';
import { suspendAccount } from '../../../lib/domain/accounts/suspensions.ts';
import { createSecret, sha256 } from '../../../lib/store/seal.ts';
import { startTestApi } from '../../harness/api.ts';
import { dumpStores } from '../../harness/dumps.ts';
import { makePerson, password } from '../../harness/factories.ts';
import { beforeNextQuery, interceptNext } from '../../harness/intercept.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { codeAt, startTwoFactor } from '../../harness/two-factor.ts';
import { make, use } from '../../harness/use.ts';

const newPassword = 'another good password';

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

  it('is the same for the same Idempotency-Key, stored only as a hash, and deleted when it is used', async () => {
    const count = () => api.platform.db.loginCodes.countDocuments({ accountId: person.id });
    const ask = () => api.call<LoginCode>('POST', '/api/auth/codes', { as: person.as, headers: { 'Idempotency-Key': 'k' } });
    const [{ body }, second] = [await ask(), await ask()];
    expect(second.body).to.deep.equal(body);
    expect(await count()).to.equal(1);
    await logIn((await makeCode()).code);
    const { database, redis } = await dumpStores(api.platform);
    expect(database + redis)
      .to.contain(sha256(body.code))
      .and.not.contain(body.code);
    await logIn(body.code);
    expect(await count()).to.equal(0);
  });
});

describe('login codes of a session that ends', () => {
  const api = use(startTestApi);
  const person = make(() => makePerson(api), { each: true });
  const stolen = make(() => logIn(), { each: true });

  const withToken = (token: string): Caller => ({ ...person, token, as: `Bearer ${token}` });
  const logIn = async (): Promise<Caller> =>
    withToken((await send<Session>(api, 200, null, 'POST', '/api/auth/login', { username: person.username, password })).token);
  const idOf = ({ token }: Caller): string => token.split('.')[0] as string;
  const makeCode = async (as: Caller): Promise<string> => (await send<LoginCode>(api, 201, as, 'POST', '/api/auth/codes')).code;
  const redeem = (code: string) => api.call<Session>('POST', '/api/auth/code', { body: { code } });
  const isAlive = async ({ as }: Caller): Promise<boolean> => (await api.call('GET', '/api/auth/me', { as })).status === 200;

  /** What ends the stolen session. `isOne`: only it, and not what it had opened before. `isAtOnce`: it cannot act from the first write on. */
  const enders: {
    name: string;
    isOne?: true;
    isAtOnce?: true;
    prepare?: () => Promise<() => Promise<unknown>>;
    end?: () => Promise<unknown>;
  }[] = [
    {
      name: 'a new password',
      end: () => send(api, 204, person, 'PUT', '/api/users/@me/password', { currentPassword: password, newPassword }),
    },
    { name: 'the end of all others', end: () => send(api, 204, person, 'DELETE', '/api/users/@me/sessions') },
    { name: 'the end of this one', isOne: true, end: () => send(api, 204, person, 'DELETE', `/api/users/@me/sessions/${idOf(stolen)}`) },
    { name: 'its logout', isOne: true, end: () => send(api, 204, stolen, 'POST', '/api/auth/logout') },
    { name: 'a suspension', isAtOnce: true, end: () => suspendAccount(api.platform, person.id, 'stolen') },
    {
      name: 'a link of an operator',
      prepare: async () => {
        const { code } = await createPasswordReset(api.platform, person.id);
        return () => send(api, 204, null, 'POST', '/api/auth/password-reset', { code, newPassword });
      },
    },
    {
      name: 'a request to delete the account',
      end: () => send(api, 200, person, 'POST', '/api/users/@me/deletion', { password, messages: 'keep' }),
    },
    {
      name: 'two-factor authentication',
      prepare: async () => {
        const { secret } = await startTwoFactor(api, person);
        return () => send(api, 200, person, 'PUT', '/api/users/@me/two-factor', { code: codeAt(secret, api.platform.now()) });
      },
    },
  ];

  for (const { name, isOne, isAtOnce, prepare, end = () => Promise.resolve() } of enders) {
    const getEnd = () => prepare?.() ?? Promise.resolve(end);

    it(`${name}: none of the codes that it makes meanwhile works, in 5 rounds`, async () => {
      const working: string[] = [];
      for (let round = 0; round < 5; round++) {
        Object.assign(person, await makePerson(api));
        Object.assign(stolen, await logIn());
        const run = await getEnd();
        const codes: string[] = [];
        let hasEnded = false;
        const steal = async (): Promise<void> => {
          while (!hasEnded) {
            const { status, body } = await api.call<LoginCode>('POST', '/api/auth/codes', { as: stolen.as });
            if (status !== 201) return;
            codes.push(body.code);
          }
        };
        const stealing = Promise.all([steal(), steal()]);
        await run();
        hasEnded = true;
        await stealing;
        for (const code of codes.slice(-10)) if ((await redeem(code)).status === 200) working.push(code);
      }
      expect(working).to.deep.equal([]);
    });

    if (!isAtOnce)
      it(`${name}: a code that was stored behind its deletion does not work, and its preview says so`, async () => {
        const run = await getEnd();
        const { tokens, loginCodes } = api.platform.db;
        const made: string[] = [];
        const keep = async (): Promise<void> => void made.push(await makeCode(stolen));
        beforeNextQuery(tokens, isOne ? 'deleteOne' : 'deleteMany', keep);
        // The request of a code was identified before the session ended, so its write comes last.
        interceptNext(loginCodes, 'deleteMany', () => Promise.resolve({ deletedCount: 0 }));
        await run();
        expect(made).to.have.length(1);
        for (const path of ['/api/auth/codes/preview', '/api/auth/code'])
          await refused(api, [401, 'unauthorized'], null, 'POST', path, { code: made[0] });
      });

    it(`${name}: a code that is used at that moment opens no session that lasts`, async () => {
      const run = await getEnd();
      const code = await makeCode(stolen);
      // The code is used up and its session is stored only after all others were deleted.
      beforeNextQuery(api.platform.db.tokens, 'insertOne', run);
      const { status, body } = await redeem(code);
      expect(status).to.be.within(401, 403);
      expect(body.token).to.equal(undefined);
      expect(await api.platform.db.tokens.countDocuments({ accountId: person.id, _id: { $ne: idOf(person) } })).to.equal(0);
    });

    if (!isOne && !isAtOnce)
      it(`${name}: a session that was stored behind the point that the deletion has reached ends, too`, async () => {
        const run = await getEnd();
        const code = await makeCode(stolen);
        const { tokens } = api.platform.db;
        const opened: string[] = [];
        interceptNext(tokens, 'deleteMany', async (real) => {
          const answer = await redeem(code);
          opened.push(answer.body.token);
          // This deletion does not find the new session.
          const doc = await tokens.findOne({ _id: answer.body.token.split('.')[0] as string });
          await tokens.deleteOne({ _id: doc?._id as string });
          const result = await real();
          if (doc) await tokens.insertOne(doc);
          return result;
        });
        await run();
        expect(await Promise.all(opened.map((token) => isAlive(withToken(token))))).to.deep.equal([false]);
      });
  }

  it('a session that a code has opened outlives the end of the session that made the code', async () => {
    const { body } = await redeem(await makeCode(stolen));
    await send(api, 204, person, 'DELETE', `/api/users/@me/sessions/${idOf(stolen)}`);
    expect(await isAlive(withToken(body.token))).to.equal(true);
  });

  it('codes of other sessions still work after the end of one', async () => {
    const code = await makeCode(person);
    await send(api, 204, person, 'DELETE', `/api/users/@me/sessions/${idOf(stolen)}`);
    expect((await redeem(code)).status).to.equal(200);
  });

  it('a code of a session that has expired does not work', async () => {
    const code = await makeCode(stolen);
    await api.platform.db.tokens.updateOne({ _id: idOf(stolen) }, { $set: { expiresAt: new Date() } });
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/code', { code });
  });
});
