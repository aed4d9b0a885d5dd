// What a person with two-factor authentication must give for a change of the account, besides the password.
import { expect } from 'chai';
import { linkByPassword } from '../../../lib/domain/accounts/identities.ts';
import { startTestApi } from '../../harness/api.ts';
import { makePerson, password, word } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { FormBrowser, startOpenIdProvider } from '../../harness/openid-provider.ts';
import { type Caller, refused } from '../../harness/requests.ts';
import { type App, turnTwoFactorOn } from '../../harness/two-factor.ts';
import { make, use } from '../../harness/use.ts';

const me = '/api/users/@me';

describe('changes of an account with two-factor authentication', () => {
  const provider = use(() => startOpenIdProvider());
  const api = use(() => startTestApi(provider.settings));
  const person = make(() => makePerson(api), { each: true });

  /** A browser in which the person is logged in, with a sign-in that can be linked. */
  const browse = async (): Promise<FormBrowser> => {
    const browser = new FormBrowser(api);
    await browser.signIn(word('subject'));
    return browser;
  };

  const hasOne = async (_id: string, more: object): Promise<boolean> =>
    (await api.platform.db.accounts.countDocuments({ _id, ...more })) === 1;
  const hasExport = async (accountId: string): Promise<boolean> => (await api.platform.db.exports.countDocuments({ accountId })) === 1;
  const isPasswordChanged = async (): Promise<boolean> => {
    const { status, body } = await api.call('POST', '/api/auth/login', { body: { username: person.username, password } });
    return status === 401 && body.code === 'unauthorized';
  };
  const isLinked = (id: string) => hasOne(id, { identity: { $exists: true } });
  const isUnlinked = (id: string) => hasOne(id, { identity: { $exists: false } });
  const isScheduled = (id: string) => hasOne(id, { deletion: { $exists: true } });
  const link = async (_id: string): Promise<void> => {
    const identity = { issuer: 'https://sso.example.org', subject: word('linked'), linkedAt: new Date() };
    await api.platform.db.accounts.updateOne({ _id }, { $set: { identity } });
  };
  const newPassword = { currentPassword: password, newPassword: 'another good password' };

  type Change = [
    name: string,
    method: string,
    path: string,
    body: object,
    status: number,
    isDone: (id: string) => Promise<boolean>,
    prepare?: (id: string) => Promise<void>,
  ];
  const changes: Change[] = [
    ['a new password', 'PUT', `${me}/password`, newPassword, 204, isPasswordChanged],
    ['the deletion of the account', 'POST', `${me}/deletion`, { password, messages: 'keep' }, 200, isScheduled],
    ['an export', 'POST', `${me}/export`, { password }, 202, hasExport],
    ['a link to the account of a provider', 'PUT', `${me}/sign-in`, { password }, 204, isLinked],
    ['the end of that link', 'DELETE', `${me}/sign-in`, { password }, 204, isUnlinked, link],
  ];

  for (const [name, method, path, body, status, isDone, prepare] of changes)
    describe(name, () => {
      beforeEach(() => prepare?.(person.id));
      const browser = make(() => browse(), { each: true });
      const change = (more: object = {}) => {
        const Cookie = browser.cookiesFor(new URL(path, api.platform.config.baseUrl));
        return api.call<{ code?: string; errors?: { path: string }[] }>(method, path, {
          as: person.as,
          body: { ...body, ...more },
          headers: { Cookie },
        });
      };

      it('needs a code that works, and changes nothing without one', async () => {
        const app = await turnTwoFactorOn(api, person);
        const used = app.recoveryCodes[0] as string;
        await api.call('POST', '/api/auth/login', { body: { username: person.username, password, code: used } });
        for (const more of [{}, { code: '000000' }, { code: 'abcd-efgh' }, { code: used }]) {
          const answer = await change(more);
          const paths = answer.body.errors?.map((one) => one.path);
          expect([answer.status, answer.body.code, paths], JSON.stringify(more)).to.deep.equal([400, 'invalid_request', ['/code']]);
        }
        expect(await isDone(person.id)).to.equal(false);
        expect((await change({ code: app.nextCode() })).status).to.equal(status);
        expect(await isDone(person.id)).to.equal(true);
      });

      it('takes a recovery code, once, and does not use it up after a wrong password', async () => {
        const app = await turnTwoFactorOn(api, person);
        const code = app.recoveryCodes[1] as string;
        const wrong = 'currentPassword' in body ? { currentPassword: 'wrong' } : { password: 'wrong' };
        expect((await change({ ...wrong, code })).status).to.equal(400);
        expect((await change({ code })).status).to.equal(status);
        expect(await isDone(person.id)).to.equal(true);
        const { body: after } = await api.call('POST', '/api/auth/login', { body: { username: person.username, password, code } });
        expect(after.code).to.be.oneOf(['two_factor_invalid', 'unauthorized']);
      });

      it('needs none without two-factor authentication, and ignores one', async () => {
        expect((await change({ code: '123456' })).status).to.equal(status);
      });
    });

  it('two-factor authentication that is turned on at that moment is not passed by a link with the password alone', async () => {
    const browser = await browse();
    const subject = word('late');
    await browser.signIn(subject);
    const app: App[] = [];
    const cookie = browser.cookiesFor(new URL('/api/auth/oidc/link', api.platform.config.baseUrl));
    const sealed = /parlance_sign_in_ticket=([^;]+)/.exec(cookie)?.[1] ?? '';
    beforeNextQuery(api.platform.db.accounts, 'updateOne', async () => void app.push(await turnTwoFactorOn(api, person)));
    const client = { address: '127.0.0.1', userAgent: '', tokenId: null };
    const linking = linkByPassword(api.platform, sealed, { username: person.username, password }, client).catch((error: unknown) => error);
    expect(await linking).to.be.instanceOf(Error);
    expect(app).to.have.length(1);
    expect(await api.platform.db.accounts.countDocuments({ 'identity.subject': subject })).to.equal(0);
  });

  it('wrong codes are counted with those of logins', async () => {
    await turnTwoFactorOn(api, person);
    const wrong = { password, code: '000000' };
    const as: Caller = person;
    for (let tries = 0; tries < 10; tries++) await refused(api, [400, 'invalid_request'], as, 'POST', `${me}/export`, wrong);
    await refused(api, [429, 'two_factor_locked'], as, 'POST', `${me}/export`, wrong);
  });
});

describe('a sign-in that was confirmed before its identity was unlinked', () => {
  const provider = use(() => startOpenIdProvider());
  const api = use(() => startTestApi(provider.settings));

  /** A person who was linked by a ticket, and a browser with a copy of that ticket. */
  const linkWithCopy = async (): Promise<{ copy: FormBrowser; browser: FormBrowser; subject: string; person: Caller }> => {
    const person = await makePerson(api);
    const [browser, copy] = [new FormBrowser(api), new FormBrowser(api)];
    const subject = word('subject');
    await browser.signIn(subject);
    copy.copyCookies(browser);
    expect((await browser.send('POST', '/api/auth/oidc/link', { username: person.username, password })).status).to.equal(200);
    return { copy, browser, subject, person };
  };
  const countOwners = (subject: string): Promise<number> => api.platform.db.accounts.countDocuments({ 'identity.subject': subject });
  const uses = (username: string): [method: string, path: string, body?: object][] => [
    ['GET', '/api/auth/oidc/pending'],
    ['POST', '/api/auth/oidc/link', { username, password }],
    ['POST', '/api/auth/oidc/account', { username: word('again') }],
  ];

  it('links no account and makes none; a new sign-in does', async () => {
    const { copy, browser, subject, person } = await linkWithCopy();
    expect((await browser.send('DELETE', '/api/users/@me/sign-in', { password })).status).to.equal(204);
    const thief = await makePerson(api);
    for (const { username } of [person, thief])
      for (const [method, path, body] of uses(username)) expect((await copy.send(method, path, body)).status, path).to.equal(401);
    await copy.send('POST', '/api/auth/login', { username: thief.username, password });
    expect((await copy.send('PUT', '/api/users/@me/sign-in', { password })).status).to.equal(401);
    expect(await countOwners(subject)).to.equal(0);
    const later = new FormBrowser(api);
    expect(await later.signIn(subject)).to.equal('/sign-in');
    expect((await later.send('POST', '/api/auth/oidc/link', { username: person.username, password })).status).to.equal(200);
  });

  it('leaves no link if it is used at that moment', async () => {
    for (const path of ['link', 'account']) {
      const { copy, browser, subject } = await linkWithCopy();
      const other = await makePerson(api);
      const body = path === 'link' ? { username: other.username, password } : { username: word('race') };
      const unlink = () => browser.send('DELETE', '/api/users/@me/sign-in', { password });
      beforeNextQuery(api.platform.db.accounts, path === 'link' ? 'updateOne' : 'insertOne', unlink);
      expect((await copy.send('POST', `/api/auth/oidc/${path}`, body)).status, path).to.equal(401);
      expect(await countOwners(subject)).to.equal(0);
    }
  });
});
