// What a sign-in by OpenID Connect refuses: answers that belong to another browser or sign-in, false signatures, other sites, and a provider that is away.
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import type { Me } from '../../../lib/contract/user.ts';
import { startTestApi } from '../../harness/api.ts';
import { word } from '../../harness/factories.ts';
import { FormBrowser, startOpenIdProvider, type TestProvider } from '../../harness/openid-provider.ts';
import { refused, send } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';

const failed = (reason: string): string => `/sign-in?error=${reason}`;

describe('sign-in by OpenID Connect: what is refused', () => {
  const provider = use(() => startOpenIdProvider());
  const api = use(() => startTestApi(provider.settings));
  const browse = (): FormBrowser => new FormBrowser(api);

  /** Opens the URL with which the provider sends a browser back. Returns the path that it leads to. */
  const comeBack = async (browser: FormBrowser, url: string): Promise<string> => {
    const { status, location } = await browser.open(url);
    expect(status).to.equal(303);
    return location.slice(new URL(location).origin.length);
  };
  const isLoggedIn = async (browser: FormBrowser): Promise<boolean> => (await browser.send<Me>('GET', '/api/auth/me')).status === 200;
  /** Makes an account that `subject` logs in to. */
  const makeLinked = async (subject: string): Promise<void> => {
    const browser = browse();
    await browser.signIn(subject);
    await browser.send('POST', '/api/auth/oidc/account', { username: word('linked') });
  };

  it('login CSRF: the way back of one browser logs no other browser in, with and without a sign-in of its own', async () => {
    const subject = word('attacker');
    await makeLinked(subject);
    const attacker = browse();
    const url = await attacker.logInAtProvider(subject);
    const [idle, busy] = [browse(), browse()];
    await busy.open('/api/auth/oidc/start');
    expect(await comeBack(idle, url)).to.equal(failed('expired'));
    expect(await comeBack(busy, url)).to.equal(failed('invalid'));
    expect([await isLoggedIn(idle), await isLoggedIn(busy)]).to.deep.equal([false, false]);
    expect(await comeBack(attacker, url)).to.equal('/');
  });

  const changes: [what: string, change: (url: URL) => void, asked?: Record<string, string>][] = [
    ['no state', (url) => url.searchParams.delete('state')],
    ['another state', (url) => url.searchParams.set('state', 'A'.repeat(43))],
    ['two states', (url) => url.searchParams.append('state', 'A'.repeat(43))],
    ['no code', (url) => url.searchParams.delete('code')],
    ['another code', (url) => url.searchParams.set('code', 'A'.repeat(43))],
    ['another issuer', (url) => url.searchParams.set('iss', 'https://elsewhere.example')],
    ['an answer to another nonce', () => undefined, { nonce: 'A'.repeat(43) }],
    ['another PKCE challenge', () => undefined, { code_challenge: createHash('sha256').update('A'.repeat(43)).digest('base64url') }],
  ];
  for (const [what, change, asked] of changes)
    it(`refuses ${what}`, async () => {
      const subject = word('subject');
      await makeLinked(subject);
      const browser = browse();
      const url = new URL(await browser.logInAtProvider(subject, '', asked));
      change(url);
      expect(await comeBack(browser, url.href)).to.equal(failed('invalid'));
      expect(await isLoggedIn(browser)).to.equal(false);
    });

  it('the way back works once, also with a copy of the cookie, and for ten minutes', async () => {
    const subject = word('subject');
    await makeLinked(subject);
    const [browser, copy] = [browse(), browse()];
    const url = await browser.logInAtProvider(subject);
    copy.copyCookies(browser);
    expect(await comeBack(browser, url)).to.equal('/');
    expect(await comeBack(browser, url)).to.equal(failed('expired'));
    expect(await comeBack(copy, url)).to.equal(failed('invalid'));
    expect(await isLoggedIn(copy)).to.equal(false);
    const late = browse();
    const lateUrl = await late.logInAtProvider(subject);
    const { now } = api.platform;
    api.platform.now = () => now() + 10 * 60_000;
    const answer = await comeBack(late, lateUrl);
    api.platform.now = now;
    expect(answer).to.equal(failed('expired'));
  });

  it('says that the person refused, and keeps where to go on', async () => {
    expect(await browse().signIn('refuse', '?returnTo=/discovery')).to.equal(`${failed('denied')}&next=%2Fdiscovery`);
  });

  it('returns only to pages of this installation', async () => {
    const bad = ['https://evil.example/', '//evil.example', '/\\evil.example', '/\t/evil.example', '/.//evil.example'];
    for (const returnTo of [...bad, 'javascript:alert(1)', 'servers', '', '/api/auth/oidc/start', `/${'a'.repeat(1024)}`]) {
      const path = `/api/auth/oidc/start?${new URLSearchParams({ returnTo }).toString()}`;
      const { errors } = await refused(api, [400, 'invalid_request'], null, 'GET', path);
      expect(errors?.[0]?.path, returnTo).to.equal('/returnTo');
    }
    await refused(api, [400, 'invalid_request'], null, 'GET', '/api/auth/oidc/start?returnTo=/a&returnTo=/b');
  });

  it('accepts only GET', async () => {
    for (const path of ['start', 'callback']) {
      await refused(api, [405, 'method_not_allowed'], null, 'POST', `/api/auth/oidc/${path}`, {});
      expect((await api.call('HEAD', `/api/auth/oidc/${path}`)).status).to.equal(405);
    }
  });

  it('sends the browser to the provider with a code challenge, and puts no secret into the URL', async () => {
    const { location, headers } = await browse().open('/api/auth/oidc/start');
    const query = Object.fromEntries(new URL(location).searchParams);
    expect(query).to.include({ client_id: 'parlance', response_type: 'code', code_challenge_method: 'S256', scope: 'openid profile' });
    expect(query).to.include.keys('state', 'nonce', 'code_challenge');
    expect(location).to.not.include(provider.settings.OIDC_CLIENT_SECRET);
    expect(headers.get('Referrer-Policy')).to.equal('no-referrer');
  });
});

describe('sign-in by OpenID Connect: faults of the provider', () => {
  const provider = use(() => startOpenIdProvider(), { each: true });
  const api = use(() => startTestApi(provider.settings), { each: true });
  const misbehave = (fault: TestProvider['fault']): void => void (provider.fault = fault);

  it('refuses an ID token that other keys than the published ones have signed', async () => {
    misbehave('foreign keys');
    expect(await new FormBrowser(api).signIn(word('subject'))).to.equal(failed('invalid'));
  });

  it('a provider that is away stops neither the API nor other logins, and sign-ins work when it is back', async () => {
    misbehave('away');
    const browser = new FormBrowser(api);
    const { status, location } = await browser.open('/api/auth/oidc/start?returnTo=/discovery');
    expect([status, new URL(location).search]).to.deep.equal([302, '?error=unavailable&next=%2Fdiscovery']);
    await send(api, 201, null, 'POST', '/api/auth/register', { username: word('person'), password: 'a password' });
    misbehave(null);
    const url = await browser.logInAtProvider(word('subject'));
    misbehave('away');
    expect(new URL((await browser.open(url)).location).search).to.equal('?error=unavailable');
    misbehave(null);
    expect(await browser.signIn(word('subject'))).to.equal('/sign-in');
  });

  it('logs faults without secrets, codes and tokens', async () => {
    const lines: string[] = [];
    api.platform.log.warn = (...line: unknown[]) => void lines.push(JSON.stringify(line));
    const browser = new FormBrowser(api);
    const url = await browser.logInAtProvider(word('subject'));
    await browser.open(`${url}&state=twice`);
    misbehave('away');
    await browser.signIn(word('subject')).catch(() => undefined);
    const text = lines.join('\n');
    expect(text).to.include('a sign-in by OpenID Connect failed');
    for (const secret of [...provider.secrets, ...new URL(url).searchParams.values()].filter((one) => one !== provider.issuer))
      expect(text).to.not.include(secret);
  });
});

describe('sign-in by OpenID Connect: rate limits', () => {
  const provider = use(() => startOpenIdProvider());
  const api = use(() => startTestApi({ ...provider.settings, RATE_LIMIT: '50/100' }));

  it('ways back count as logins of their address, and the page says so', async () => {
    const browser = new FormBrowser(api);
    const answers: string[] = [];
    for (let at = 0; at < 11; at++) answers.push(new URL((await browser.open('/api/auth/oidc/callback')).location).search);
    expect(answers).to.deep.equal([...Array.from({ length: 10 }, () => '?error=expired'), '?error=rate_limited']);
    await refused(api, [429, 'rate_limited'], null, 'POST', '/api/auth/login', { username: 'nobody', password: 'a password' });
  });
});
