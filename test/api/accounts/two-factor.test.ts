import { expect } from 'chai';
import type { LoginCode, Session } from '../../../lib/contract/auth.ts';
import type { RecoveryCodes, TwoFactorState } from '../../../lib/contract/two-factor.ts';
import { createPasswordReset } from '../../../lib/domain/accounts/password-resets.ts';
import { sha256 } from '../../../lib/store/seal.ts';
import { Client } from '../../gateway/client.ts';
import { dumpStores } from '../../harness/dumps.ts';
import { makePerson, password } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { startParlance } from '../../harness/parlance.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { codeAt, passTimeStep, startTwoFactor, turnTwoFactorOn } from '../../harness/two-factor.ts';
import { make, use } from '../../harness/use.ts';

const path = '/api/users/@me/two-factor';

describe('two-factor authentication of a person', () => {
  const api = use(startParlance);
  const person = make(() => makePerson(api), { each: true });

  const stateOf = (): Promise<TwoFactorState> => send(api, 200, person, 'GET', path);
  const newSession = async (code?: string): Promise<Caller> => {
    const body = { username: person.username, password, ...(code !== undefined && { code }) };
    const { token } = await send<Session>(api, 200, null, 'POST', '/api/auth/login', body);
    return { ...person, token, as: `Bearer ${token}` };
  };
  const isAlive = async ({ as }: Caller): Promise<boolean> => (await api.call('GET', '/api/auth/me', { as })).status === 200;
  /** Expects 400 with an error at these fields. */
  const isInvalid = async (method: string, to: string, body: unknown, fields?: string[]): Promise<string> => {
    const { errors, message } = await refused(api, [400, 'invalid_request'], person, method, to, body);
    expect(errors?.map((one) => one.path)).to.deep.equal(fields);
    return message;
  };

  it('POST returns a secret and its address for an app, and changes nothing yet', async () => {
    const off = { enabled: false, enabledAt: null, recoveryCodesLeft: 0 };
    expect(await stateOf()).to.deep.equal(off);
    const { secret, uri, expiresAt } = await startTwoFactor(api, person);
    expect(secret).to.match(/^[A-Z2-7]{32}$/);
    const { protocol, host, pathname, searchParams } = new URL(uri);
    expect([protocol, host, decodeURIComponent(pathname)]).to.deep.equal(['otpauth:', 'totp', `/Parlance:${person.username}`]);
    expect(Object.fromEntries(searchParams)).to.deep.equal({ issuer: 'Parlance', secret, algorithm: 'SHA1', digits: '6', period: '30' });
    expect(Date.parse(expiresAt) - api.platform.now()).to.be.within(14 * 60_000, 15 * 60_000);
    expect(await stateOf()).to.deep.equal(off);
    expect(await isAlive(await newSession())).to.equal(true);
  });

  it('PUT turns it on, returns 10 recovery codes, and ends all other sessions with their sockets, and login codes', async () => {
    const other = await newSession();
    const { code: loginCode } = await send<LoginCode>(api, 201, other, 'POST', '/api/auth/codes');
    const socket = new Client(Number(new URL(api.gatewayUrl).port));
    await socket.identify(other.token);
    const { recoveryCodes } = await turnTwoFactorOn(api, person);
    expect(await socket.closed).to.equal(4004);
    expect([await isAlive(other), await isAlive(person)]).to.deep.equal([false, true]);
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/code', { code: loginCode });
    expect(new Set(recoveryCodes).size).to.equal(10);
    for (const one of recoveryCodes) expect(one).to.match(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
    const { enabledAt, ...state } = await stateOf();
    expect(state).to.deep.equal({ enabled: true, recoveryCodesLeft: 10 });
    expect(Math.abs(Date.parse(enabledAt ?? '') - api.platform.now())).to.be.lessThan(60_000);
    const after = await send<LoginCode>(api, 201, person, 'POST', '/api/auth/codes');
    expect((await send<Session>(api, 200, null, 'POST', '/api/auth/code', { code: after.code })).user.id).to.equal(person.id);
  });

  it('400 for a wrong password, a wrong code, and a code without a setup, with one that has expired or was replaced', async () => {
    await isInvalid('POST', path, { password: 'a wrong one' }, ['/password']);
    const withoutSetup = await isInvalid('PUT', path, { code: '123456' });
    const first = await startTwoFactor(api, person);
    const { secret } = await startTwoFactor(api, person);
    const right = codeAt(secret, api.platform.now());
    for (const code of [codeAt(first.secret, api.platform.now()), codeAt(secret, api.platform.now() - 120_000), 'abcdef'])
      await isInvalid('PUT', path, { code }, ['/code']);
    for (const body of [{}, { code: '' }, { code: 5 }, { code: 'x'.repeat(65) }]) await isInvalid('PUT', path, body, ['/code']);
    expect((await stateOf()).enabled).to.equal(false);
    passTimeStep(api, 30);
    expect(await isInvalid('PUT', path, { code: codeAt(secret, api.platform.now()) })).to.equal(withoutSetup);
    expect(await isInvalid('PUT', path, { code: right })).to.equal(withoutSetup);
    expect((await stateOf()).enabled).to.equal(false);
  });

  it('of 10 simultaneous confirmations one turns it on; a setup cannot start while it is on', async () => {
    const { secret } = await startTwoFactor(api, person);
    const body = { code: codeAt(secret, api.platform.now()) };
    const answers = await inParallel(10, () => api.call<RecoveryCodes>('PUT', path, { as: person.as, body }));
    expect(tally(answers)).to.deep.equal({ 200: 1, 400: 9 });
    const shown = answers.find(({ status }) => status === 200)?.body.recoveryCodes ?? [];
    const stored = await api.platform.db.accounts.findOne({ _id: person.id });
    expect(stored?.twoFactor?.recoveryCodes).to.deep.equal(shown.map((code) => sha256(code.replaceAll('-', '').toUpperCase())));
    await isInvalid('POST', path, { password });
    await isInvalid('PUT', path, body);
  });

  it('a setup that starts while another one is confirmed is refused', async () => {
    await startTwoFactor(api, person);
    const { secret } = await startTwoFactor(api, person);
    beforeNextQuery(api.platform.db.accounts, 'updateOne', () => startTwoFactor(api, person));
    await isInvalid('PUT', path, { code: codeAt(secret, api.platform.now()) });
    expect((await stateOf()).enabled).to.equal(false);
  });

  for (const [name, action] of [
    ['disable turns it off', 'disable'],
    ['recovery-codes replaces all recovery codes', 'recovery-codes'],
  ] as const)
    it(`POST ${name}, with the password and a code`, async () => {
      const { nextCode, recoveryCodes } = await turnTwoFactorOn(api, person);
      const to = `${path}/${action}`;
      await isInvalid('POST', to, { password: 'a wrong one', code: recoveryCodes[0] }, ['/password']);
      await isInvalid('POST', to, { password, code: '1234567' }, ['/code']);
      await isInvalid('POST', to, { password }, ['/code']);
      expect(await stateOf()).to.include({ enabled: true, recoveryCodesLeft: 10 });
      const body = { password, code: nextCode() };
      const made = await send<RecoveryCodes | undefined>(api, action === 'disable' ? 204 : 200, person, 'POST', to, body);
      if (action === 'disable') {
        expect(await stateOf()).to.deep.equal({ enabled: false, enabledAt: null, recoveryCodesLeft: 0 });
        expect(await isAlive(await newSession())).to.equal(true);
        await isInvalid('POST', to, body);
        return;
      }
      await isInvalid('POST', to, body, ['/code']);
      expect((await stateOf()).recoveryCodesLeft).to.equal(10);
      const login = { username: person.username, password };
      await refused(api, [401, 'two_factor_invalid'], null, 'POST', '/api/auth/login', { ...login, code: recoveryCodes[0] });
      expect(await isAlive(await newSession(made?.recoveryCodes[0]))).to.equal(true);
    });

  it('10 wrong codes in a day lock these routes as well', async () => {
    const { secret, nextCode } = await turnTwoFactorOn(api, person);
    const right = [-1, 0, 1].map((step) => codeAt(secret, api.platform.now() + step * 30_000));
    const code = ['000000', '111111', '222222', '333333'].find((one) => !right.includes(one));
    for (let i = 0; i < 10; i++) await isInvalid('POST', `${path}/disable`, { password, code }, ['/code']);
    for (const action of ['disable', 'recovery-codes'])
      await refused(api, [429, 'two_factor_locked'], person, 'POST', `${path}/${action}`, { password, code: nextCode() });
    expect((await stateOf()).enabled).to.equal(true);
  });

  it('a new password, also one set by a link, leaves it on', async () => {
    const { nextCode } = await turnTwoFactorOn(api, person);
    const { code } = await createPasswordReset(api.platform, person.id);
    await send(api, 204, null, 'POST', '/api/auth/password-reset', { code, newPassword: password });
    const login = { username: person.username, password };
    await refused(api, [401, 'two_factor_required'], null, 'POST', '/api/auth/login', login);
    const session = await newSession(nextCode());
    const passwords = { currentPassword: password, newPassword: password };
    await send(api, 204, session, 'PUT', '/api/users/@me/password', { ...passwords, code: nextCode() });
    await refused(api, [401, 'two_factor_required'], null, 'POST', '/api/auth/login', login);
  });

  it('neither the database nor Redis holds a secret, a code or a recovery code', async () => {
    const { secret: pending } = await startTwoFactor(api, await makePerson(api));
    const { secret, recoveryCodes, nextCode } = await turnTwoFactorOn(api, person);
    const code = nextCode();
    await newSession(code);
    const { database, redis } = await dumpStores(api.platform);
    const [shown = ''] = recoveryCodes;
    for (const text of [pending, secret, shown, shown.replaceAll('-', '').toUpperCase()]) expect(database + redis).to.not.contain(text);
    expect(database).to.contain(sha256(shown.replaceAll('-', '').toUpperCase()));
  });
});
