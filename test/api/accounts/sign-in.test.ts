// Sign-in by OpenID Connect with a real provider: new accounts, known ones, links, and everything that must not log anybody in.
import { expect } from 'chai';
import type { Session } from '../../../lib/contract/auth.ts';
import type { OwnSignIn, PendingSignIn } from '../../../lib/contract/sign-in.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { startTestApi } from '../../harness/api.ts';
import { makePerson, password, word } from '../../harness/factories.ts';
import { FormBrowser, startOpenIdProvider } from '../../harness/openid-provider.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';

describe('sign-in by OpenID Connect', () => {
  const provider = use(() => startOpenIdProvider());
  const api = use(() => startTestApi(provider.settings));
  const browse = (): FormBrowser => new FormBrowser(api);

  /** The username of the account that a browser is logged in to; null if there is none. */
  const usernameIn = async (browser: FormBrowser): Promise<string | null> => {
    const { status, body } = await browser.send<Me>('GET', '/api/auth/me');
    return status === 200 ? body.username : null;
  };
  /** A browser that has signed in with an identity without an account. */
  const withTicket = async (login: string): Promise<FormBrowser> => {
    const browser = browse();
    expect(await browser.signIn(login)).to.equal('/sign-in');
    return browser;
  };
  const countOwners = (subject: string): Promise<number> => api.platform.db.accounts.countDocuments({ 'identity.subject': subject });

  it('GET /api/instance names the provider', async () => {
    expect(await send(api, 200, null, 'GET', '/api/instance')).to.deep.include({ signIn: { name: 'Example SSO', canCreate: true } });
  });

  it('the first sign-in suggests names and creates an account without a password; the next one logs in to it and opens the page', async () => {
    const [subject, username] = [word('subject'), word('newcomer')];
    provider.people.set(subject, { preferred_username: `${username.toUpperCase()}@example.org`, name: 'New Comer' });
    const browser = await withTicket(subject);
    const pending = await browser.send<PendingSignIn>('GET', '/api/auth/oidc/pending');
    expect(pending.body).to.include({ username, displayName: 'New Comer' });
    const created = await browser.send<Session>('POST', '/api/auth/oidc/account', { username, displayName: 'New Comer' });
    expect(created.status).to.equal(201);
    expect(created.body.user).to.include({ username, displayName: 'New Comer' });
    expect(await usernameIn(browser)).to.equal(username);
    expect(await api.platform.db.accounts.findOne({ username })).to.deep.include({ passwordHash: null });
    const later = browse();
    expect(await later.signIn(subject, '?returnTo=/servers/1/2%3Fa=b')).to.equal('/servers/1/2?a=b');
    expect(await usernameIn(later)).to.equal(username);
  });

  it('an identity gets no access to an account of the same username and e-mail address', async () => {
    const victim = await makePerson(api);
    const subject = word('impostor');
    provider.people.set(subject, { preferred_username: victim.username, email: `${victim.username}@example.org` });
    const browser = await withTicket(subject);
    expect(await usernameIn(browser)).to.equal(null);
    const { status, body } = await browser.send('POST', '/api/auth/oidc/account', { username: victim.username });
    expect([status, body.code]).to.deep.equal([409, 'username_taken']);
    for (const given of ['', 'a wrong password', `${password}!`]) {
      const answer = await browser.send('POST', '/api/auth/oidc/link', { username: victim.username, password: given });
      expect([answer.status, answer.body.code], given).to.deep.equal([401, 'unauthorized']);
    }
    expect(await usernameIn(browser)).to.equal(null);
    expect(await countOwners(subject)).to.equal(0);
  });

  it('links to an existing account after its password, and logs in to it from then on', async () => {
    const person = await makePerson(api);
    const subject = word('linked');
    const browser = await withTicket(subject);
    const linked = await browser.send<Session>('POST', '/api/auth/oidc/link', { username: person.username, password });
    expect([linked.status, linked.body.user.id]).to.deep.equal([200, person.id]);
    const later = browse();
    expect(await later.signIn(subject)).to.equal('/');
    expect(await usernameIn(later)).to.equal(person.username);
    await send(api, 200, null, 'POST', '/api/auth/login', { username: person.username, password });
  });

  it('an account has one identity: another one is 409 already_linked, and of several at once one is linked', async () => {
    const person = await makePerson(api);
    const browsers = await Promise.all([1, 2, 3, 4].map((at) => withTicket(word(`rival${at}`))));
    const body = { username: person.username, password };
    const answers = await Promise.all(browsers.map((browser) => browser.send('POST', '/api/auth/oidc/link', body)));
    expect(tally(answers)).to.deep.equal({ 200: 1, 409: 3 });
    const late = await (await withTicket(word('late'))).send('POST', '/api/auth/oidc/link', body);
    expect([late.status, late.body.code]).to.deep.equal([409, 'already_linked']);
  });

  it('a ticket makes one account, also by simultaneous requests, and none afterwards', async () => {
    const subject = word('eager');
    const [first, copy] = [await withTicket(subject), browse()];
    copy.copyCookies(first);
    const answers = await inParallel(8, (at) => first.send('POST', '/api/auth/oidc/account', { username: word(`eager${at}`) }));
    expect(tally(answers)).to.deep.equal({ 201: 1, 409: 7 });
    const person = await makePerson(api);
    const create = await copy.send('POST', '/api/auth/oidc/account', { username: word('again') });
    const link = await copy.send('POST', '/api/auth/oidc/link', { username: person.username, password });
    expect([create.body.code, link.body.code]).to.deep.equal(['already_linked', 'already_linked']);
    expect(await countOwners(subject)).to.equal(1);
    expect((await first.send('POST', '/api/auth/oidc/account', { username: word('third') })).status).to.equal(401);
  });

  it('401 without a ticket, with an expired one, and with the cookie of a sign-in that has only begun', async () => {
    const body = { username: word('none'), password };
    for (const path of ['account', 'link']) await refused(api, [401, 'unauthorized'], null, 'POST', `/api/auth/oidc/${path}`, body);
    await refused(api, [401, 'unauthorized'], null, 'GET', '/api/auth/oidc/pending');
    const browser = await withTicket(word('late'));
    const { now } = api.platform;
    api.platform.now = () => now() + 15 * 60_000;
    const expired = await browser.send('POST', '/api/auth/oidc/account', body);
    api.platform.now = now;
    expect(expired.status).to.equal(401);
    const { headers } = await browse().open('/api/auth/oidc/start');
    const [, flow = ''] = /^parlance_sign_in=([^;]+)/.exec(headers.getSetCookie()[0] ?? '') ?? [];
    const answer = await api.call('POST', '/api/auth/oidc/account', { body, headers: { Cookie: `parlance_sign_in_ticket=${flow}` } });
    expect([flow.length > 0, answer.status]).to.deep.equal([true, 401]);
  });

  it('the cookies are HttpOnly; that of the ticket is not sent by other sites', async () => {
    const browser = browse();
    const started = await browser.open('/api/auth/oidc/start');
    expect(started.headers.getSetCookie()[0]).to.match(
      /^parlance_sign_in=\S+; Path=\/api\/auth\/oidc\/callback; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
    const { headers } = await browser.open(await browser.logInAtProvider(word('cookie')));
    const cookies = headers.getSetCookie().join('\n');
    expect(cookies).to.match(/^parlance_sign_in=; .*Max-Age=0/);
    expect(cookies).to.match(/\nparlance_sign_in_ticket=\S+; Path=\/api; HttpOnly; SameSite=Strict; Max-Age=900$/);
  });

  it('an account without a password is 401 by any password', async () => {
    const browser = await withTicket(word('bare'));
    const username = word('bare');
    await browser.send('POST', '/api/auth/oidc/account', { username });
    for (const given of ['', 'null', password])
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', { username, password: given });
  });

  it('a suspended person gets no session by the provider, and can link nothing', async () => {
    const [subject, username] = [word('subject'), word('suspended')];
    const browser = await withTicket(subject);
    await browser.send('POST', '/api/auth/oidc/account', { username });
    const other = await makePerson(api);
    for (const name of [username, other.username])
      await api.platform.db.accounts.updateOne({ username: name }, { $set: { suspendedAt: new Date() } });
    const later = browse();
    expect(await later.signIn(subject)).to.equal('/sign-in?error=account_suspended');
    expect(await usernameIn(later)).to.equal(null);
    const link = await (await withTicket(word('subject'))).send('POST', '/api/auth/oidc/link', { username: other.username, password });
    expect([link.status, link.body.code]).to.deep.equal([403, 'account_suspended']);
    expect(await api.platform.db.accounts.countDocuments({ username: other.username, identity: { $exists: true } })).to.equal(0);
  });

  describe('linking while logged in', () => {
    const loggedIn = async (): Promise<{ browser: FormBrowser; username: string }> => {
      const { username } = await makePerson(api);
      const browser = browse();
      await browser.send('POST', '/api/auth/login', { username, password });
      return { browser, username };
    };

    it('PUT links after the own password, keeps the session; DELETE unlinks after it', async () => {
      const { browser, username } = await loggedIn();
      const subject = word('own');
      expect(await browser.signIn(subject, '?link=true&returnTo=/settings/account')).to.equal('/sign-in?next=%2Fsettings%2Faccount');
      expect(await usernameIn(browser)).to.equal(username);
      const wrong = await browser.send('PUT', '/api/users/@me/sign-in', { password: 'a wrong password' });
      expect([wrong.status, wrong.body.code]).to.deep.equal([400, 'invalid_request']);
      expect((await browser.send('PUT', '/api/users/@me/sign-in', { password })).status).to.equal(204);
      const { body } = await browser.send<OwnSignIn>('GET', '/api/users/@me/sign-in');
      expect([body.hasPassword, body.linked?.issuer, body.isFresh]).to.deep.equal([true, provider.issuer, false]);
      expect((await browser.send('DELETE', '/api/users/@me/sign-in', { password: 'a wrong password' })).status).to.equal(400);
      expect(await countOwners(subject)).to.equal(1);
      expect((await browser.send('DELETE', '/api/users/@me/sign-in', { password })).status).to.equal(204);
      expect(await countOwners(subject)).to.equal(0);
      expect((await browser.send('DELETE', '/api/users/@me/sign-in', { password })).status).to.equal(404);
    });

    it('never switches to the account of an identity that is linked already', async () => {
      const { browser, username } = await loggedIn();
      const subject = word('others');
      await (await withTicket(subject)).send('POST', '/api/auth/oidc/account', { username: word('others') });
      expect(await browser.signIn(subject, '?link=true')).to.equal('/sign-in?error=already_linked');
      expect(await usernameIn(browser)).to.equal(username);
    });
  });
});

describe('OIDC_ACCOUNTS=link, and no provider', () => {
  const provider = use(() => startOpenIdProvider());
  const api = use(() => startTestApi({ ...provider.settings, OIDC_ACCOUNTS: 'link' }));
  const without = use(() => startTestApi());

  it('creates no account, but links', async () => {
    const person = await makePerson(api);
    const browser = new FormBrowser(api);
    await browser.signIn(word('subject'));
    const { status, body } = await browser.send('POST', '/api/auth/oidc/account', { username: word('refused') });
    expect([status, body.code]).to.deep.equal([403, 'registration_closed']);
    expect((await browser.send('POST', '/api/auth/oidc/link', { username: person.username, password })).status).to.equal(200);
  });

  it('every route is 404 without a provider, and the instance names none', async () => {
    for (const path of ['start', 'callback', 'pending']) await refused(without, [404, 'not_found'], null, 'GET', `/api/auth/oidc/${path}`);
    for (const path of ['account', 'link'])
      await refused(without, [404, 'not_found'], null, 'POST', `/api/auth/oidc/${path}`, { username: 'someone', password });
    expect(await send(without, 200, null, 'GET', '/api/instance')).to.include({ signIn: null });
  });
});
