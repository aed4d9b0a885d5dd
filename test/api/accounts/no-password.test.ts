// Accounts without a password: changes need a session that the provider has just opened.
import { expect } from 'chai';
import type { LoginCode, Session } from '../../../lib/contract/auth.ts';
import type { OwnSignIn } from '../../../lib/contract/sign-in.ts';
import { startTestApi } from '../../harness/api.ts';
import { makePerson, password, word } from '../../harness/factories.ts';
import { FormBrowser, startOpenIdProvider } from '../../harness/openid-provider.ts';
import { refused, send } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';

describe('accounts without a password', () => {
  const provider = use(() => startOpenIdProvider());
  const api = use(() => startTestApi(provider.settings));
  const passwordPath = '/api/users/@me/password';

  /** A browser that has just created an account without a password. */
  const signUp = async (): Promise<{ browser: FormBrowser; subject: string; username: string; id: string }> => {
    const [browser, subject, username] = [new FormBrowser(api), word('subject'), word('person')];
    await browser.signIn(subject);
    const { body } = await browser.send<Session>('POST', '/api/auth/oidc/account', { username });
    return { browser, subject, username, id: body.user.id };
  };
  const age = (accountId: string): Promise<unknown> =>
    api.platform.accessVersions.runChange({ accounts: [accountId] }, () =>
      api.platform.db.tokens.updateMany({ accountId }, { $set: { createdAt: new Date(Date.now() - 10 * 60_000) } }),
    );
  const isFresh = async (browser: FormBrowser): Promise<boolean> =>
    (await browser.send<OwnSignIn>('GET', '/api/users/@me/sign-in')).body.isFresh;

  it('sets a first password within ten minutes of a sign-in, and logs in with it', async () => {
    const { browser, username, id } = await signUp();
    expect((await browser.send('GET', '/api/users/@me/sign-in')).body).to.include({ hasPassword: false, isFresh: true });
    const short = await browser.send('PUT', passwordPath, { newPassword: 'short' });
    expect(short.status).to.equal(400);
    expect((await browser.send('PUT', passwordPath, { newPassword: password })).status).to.equal(204);
    await send(api, 200, null, 'POST', '/api/auth/login', { username, password });
    expect((await browser.send('GET', '/api/users/@me/sign-in')).body).to.include({ hasPassword: true });
    await age(id);
    const wrong = await browser.send('PUT', passwordPath, { newPassword: 'another password' });
    expect(wrong.status).to.equal(400); // from now on it needs the current one
    expect((await browser.send('PUT', passwordPath, { currentPassword: password, newPassword: 'another password' })).status).to.equal(204);
  });

  it('400 with an older session, until the person signs in again', async () => {
    const { browser, subject, id } = await signUp();
    await age(id);
    expect(await isFresh(browser)).to.equal(false);
    for (const currentPassword of [undefined, '', password]) {
      const { status, body } = await browser.send<{ errors: { path: string; message: string }[] }>('PUT', passwordPath, {
        currentPassword,
        newPassword: password,
      });
      expect([status, body.errors[0]?.path]).to.deep.equal([400, '/currentPassword']);
      expect(body.errors[0]?.message).to.match(/log in again/);
    }
    await browser.signIn(subject);
    expect((await browser.send('PUT', passwordPath, { newPassword: password })).status).to.equal(204);
  });

  it('400 with a session of a login code, which whoever has a session can make', async () => {
    const { browser, id } = await signUp();
    const { body } = await browser.send<LoginCode>('POST', '/api/auth/codes');
    await age(id);
    const other = new FormBrowser(api);
    expect((await other.send('POST', '/api/auth/code', { code: body.code })).status).to.equal(200);
    expect(await isFresh(other)).to.equal(false);
    expect((await other.send('PUT', passwordPath, { newPassword: password })).status).to.equal(400);
  });

  it('the only way to log in cannot be unlinked; with a password it can', async () => {
    const { browser, username } = await signUp();
    const { status, body } = await browser.send('DELETE', '/api/users/@me/sign-in', { password: '' });
    expect([status, body.code]).to.deep.equal([400, 'invalid_request']);
    await browser.send('PUT', passwordPath, { newPassword: password });
    expect((await browser.send('DELETE', '/api/users/@me/sign-in', { password })).status).to.equal(204);
    await send(api, 200, null, 'POST', '/api/auth/login', { username, password });
  });

  it('a fresh sign-in replaces no password of an account that has one', async () => {
    const { username } = await makePerson(api);
    const [browser, subject] = [new FormBrowser(api), word('subject')];
    await browser.signIn(subject);
    await browser.send('POST', '/api/auth/oidc/link', { username, password });
    await browser.signIn(subject);
    expect(await isFresh(browser)).to.equal(true);
    for (const currentPassword of [undefined, '', 'a wrong password'])
      expect((await browser.send('PUT', passwordPath, { currentPassword, newPassword: 'stolen password' })).status).to.equal(400);
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', { username, password: 'stolen password' });
  });
});
