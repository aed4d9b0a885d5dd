import { expect } from 'chai';
import type { LoginCode, Session } from '../../../lib/contract/auth.ts';
import { createActor } from '../../../lib/domain/access/credentials.ts';
import { enableTwoFactor } from '../../../lib/domain/accounts/two-factor.ts';
import type { AccountDoc } from '../../../lib/store/mongo/models/account.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { makePerson, password } from '../../harness/factories.ts';
import { beforeNextQuery, interceptNext } from '../../harness/intercept.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { type App, codeAt, passTimeStep, startTwoFactor, turnTwoFactorOn } from '../../harness/two-factor.ts';
import { make, use } from '../../harness/use.ts';

describe('login with two-factor authentication', () => {
  const api = use(startTestApi, { each: true });
  const person = make(() => makePerson(api), { each: true });
  const app = make<App>(() => turnTwoFactorOn(api, person), { each: true });

  const logIn = (code?: string, given = password): Promise<Answer<Session & { code?: string; retryAfter?: number }>> =>
    api.call('POST', '/api/auth/login', { body: { username: person.username, password: given, ...(code !== undefined && { code }) } });
  const isRefused = (wanted: string, code?: string, given = password) =>
    refused(api, [wanted === 'two_factor_locked' ? 429 : 401, wanted], null, 'POST', '/api/auth/login', {
      username: person.username,
      password: given,
      ...(code !== undefined && { code }),
    });
  const sessions = (): Promise<number> => api.platform.db.tokens.countDocuments({ accountId: person.id });
  const stored = async (): Promise<AccountDoc | null> => api.platform.db.accounts.findOne({ _id: person.id });
  /** A code that is wrong now. */
  const wrongCode = (): string => {
    const now = api.platform.now();
    const right = [-2, -1, 0, 1, 2].map((step) => codeAt(app.secret, now + step * 30_000));
    return ['000000', '111111', '222222', '333333', '444444', '555555'].find((one) => !right.includes(one)) ?? '';
  };

  it('200 with a code of the app, which may have spaces; 401 two_factor_required without one, and no session', async () => {
    await isRefused('two_factor_required');
    expect(await sessions()).to.equal(1);
    const code = app.nextCode();
    const { status, headers, body } = await logIn(`${code.slice(0, 3)} ${code.slice(3)}`);
    expect([status, body.user.id]).to.deep.equal([200, person.id]);
    expect(headers.get('Set-Cookie')).to.contain(body.token);
    expect(JSON.stringify(body)).to.not.match(/factor|secret/i);
    expect((await api.call('GET', '/api/auth/me', { as: `Bearer ${body.token}` })).status).to.equal(200);
  });

  it('a wrong password is the same 401 with a right, a wrong and no code, and uses no code up', async () => {
    const code = app.nextCode();
    const answers = [await isRefused('unauthorized', code, 'a wrong one'), await isRefused('unauthorized', '000000', 'a wrong one')];
    answers.push(await isRefused('unauthorized', undefined, 'a wrong one'));
    expect(new Set(answers.map(({ message }) => message)).size).to.equal(1);
    expect((await stored())?.twoFactor?.wrongCodes).to.equal(undefined);
    expect((await logIn(code)).status).to.equal(200);
  });

  it('ignores a code for an account without two-factor authentication', async () => {
    const { username } = await makePerson(api);
    expect((await api.call('POST', '/api/auth/login', { body: { username, password, code: '123456' } })).status).to.equal(200);
  });

  it('401 two_factor_invalid for a wrong code, one of another account, and one that is too old or too new', async () => {
    const now = api.platform.now();
    const other = await turnTwoFactorOn(api, await makePerson(api));
    passTimeStep(api, 10);
    const later = api.platform.now();
    expect(later - now).to.be.at.least(300_000);
    const untimely = [-90_000, 90_000].map((ms) => codeAt(app.secret, later + ms));
    const foreign = [codeAt(other.secret, later), other.recoveryCodes[0] as string];
    for (const code of [wrongCode(), ...untimely, ...foreign, '12345', 'x'.repeat(64), '$ne', '--'])
      await isRefused('two_factor_invalid', code);
    for (const code of ['', 123456, null, { $ne: '' }, 'x'.repeat(65)])
      await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/login', { username: person.username, password, code });
    for (const step of [-1, 0, 1]) expect((await logIn(codeAt(app.secret, later + step * 30_000))).status).to.equal(200);
  });

  it('a code of the app works once, also in 10 simultaneous logins, and so do earlier codes after it', async () => {
    const earlier = app.nextCode();
    const code = app.nextCode();
    expect(tally(await inParallel(10, () => logIn(code)))).to.deep.equal({ 200: 1, 401: 9 });
    expect(await sessions()).to.equal(2);
    await api.platform.db.accounts.updateOne({ _id: person.id }, { $unset: { 'twoFactor.wrongCodes': 1 } });
    await isRefused('two_factor_invalid', code);
    await isRefused('two_factor_invalid', earlier);
    expect((await logIn(app.nextCode())).status).to.equal(200);
  });

  it('the code that turned it on does not log in', async () => {
    const lastStep = (await stored())?.twoFactor?.lastStep ?? 0;
    expect(lastStep).to.be.greaterThan(0);
    await isRefused('two_factor_invalid', codeAt(app.secret, lastStep * 30_000));
  });

  it('a recovery code works once, in any case and without dashes, also in 10 simultaneous logins', async () => {
    const [first = '', second = '', third = ''] = app.recoveryCodes;
    expect(tally(await inParallel(10, () => logIn(first)))).to.deep.equal({ 200: 1, 401: 9 });
    await isRefused('two_factor_invalid', first);
    expect((await logIn(second.toUpperCase().replaceAll('-', ' '))).status).to.equal(200);
    expect((await logIn(third.replaceAll('-', ''))).status).to.equal(200);
    expect((await stored())?.twoFactor?.recoveryCodes).to.have.length(7);
  });

  it('after 10 wrong codes in a day, also simultaneous ones, 429 for every code of the app; recovery codes still work', async () => {
    const wrong = wrongCode();
    expect(tally(await inParallel(30, () => logIn(wrong)))).to.deep.equal({ 401: 10, 429: 20 });
    const { status, headers, body } = await logIn(app.nextCode());
    expect([status, body.code]).to.deep.equal([429, 'two_factor_locked']);
    expect(Number(headers.get('Retry-After'))).to.be.within(86_400 - 120, 86_400);
    await isRefused('unauthorized', undefined, 'a wrong one');
    expect((await logIn(app.recoveryCodes[0])).status).to.equal(200);
    await isRefused('two_factor_locked', app.nextCode());
    passTimeStep(api, 2 * 60 * 24);
    expect((await logIn(app.nextCode())).status).to.equal(200);
    await isRefused('two_factor_invalid', wrong);
    expect((await stored())?.twoFactor?.wrongCodes?.count).to.equal(1);
  });

  it('a secret that no key decrypts lets nobody in with a code of the app; recovery codes still work', async () => {
    await api.platform.db.accounts.updateOne({ _id: person.id }, { $set: { 'twoFactor.secret': `${'A'.repeat(22)}.${'A'.repeat(80)}` } });
    await isRefused('two_factor_required');
    await isRefused('two_factor_invalid', app.nextCode());
    expect((await logIn(app.recoveryCodes[0])).status).to.equal(200);
  });
});

describe('turning two-factor authentication on during a login', () => {
  const api = use(startTestApi);
  const person = make(() => makePerson(api), { each: true });

  /** Turns it on with a setup that was started before. */
  const prepare = async (): Promise<() => Promise<unknown>> => {
    const { secret } = await startTwoFactor(api, person);
    const account = (await api.platform.db.accounts.findOne({ _id: person.id })) as AccountDoc;
    const actor = createActor(api.platform, account, new Map());
    return () => enableTwoFactor(api.platform, actor, { code: codeAt(secret, api.platform.now()) }, person.token.split('.')[0] as string);
  };
  const body = () => ({ username: person.username, password });
  const sessions = (): Promise<number> => api.platform.db.tokens.countDocuments({ accountId: person.id });

  it('401 for a login that has not stored its session', async () => {
    beforeNextQuery(api.platform.db.tokens, 'insertOne', await prepare());
    await refused(api, [401, 'two_factor_required'], null, 'POST', '/api/auth/login', body());
    expect(await sessions()).to.equal(1);
  });

  it('10 simultaneous logins leave no session', async () => {
    const turnOn = await prepare();
    const [, ...answers] = await Promise.all([
      turnOn(),
      ...Array.from({ length: 10 }, () => api.call<Session>('POST', '/api/auth/login', { body: body() })),
    ]);
    for (const { status, body: made } of answers)
      if (status === 200) expect((await api.call('GET', '/api/auth/me', { as: `Bearer ${made.token}` })).status).to.equal(401);
    expect(await sessions()).to.equal(1);
  });

  it('a login code that is used up at that moment opens no session', async () => {
    const { loginCodes, tokens } = api.platform.db;
    const { code } = await send<LoginCode>(api, 201, person, 'POST', '/api/auth/codes');
    const turnOn = await prepare();
    beforeNextQuery(loginCodes, 'findOneAndDelete', turnOn);
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/code', { code });
    expect(await tokens.countDocuments({ accountId: person.id })).to.equal(1);
  });

  it('a login code that was used up just before opens no session', async () => {
    const { code } = await send<LoginCode>(api, 201, person, 'POST', '/api/auth/codes');
    const turnOn = await prepare();
    interceptNext(api.platform.db.loginCodes, 'findOneAndDelete', async (real) => {
      const used = await real();
      await turnOn();
      return used;
    });
    await refused(api, [401, 'two_factor_required'], null, 'POST', '/api/auth/code', { code });
    expect(await sessions()).to.equal(1);
  });
});
