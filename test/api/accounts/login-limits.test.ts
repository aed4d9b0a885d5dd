import { expect } from 'chai';
import { createSecret } from '../../../lib/store/seal.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { makePerson, password, word } from '../../harness/factories.ts';
import { inParallel, tally } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';

describe('limits of log-ins', () => {
  const api = use(() => startTestApi({ TRUST_PROXY: '1', RATE_LIMIT: '50/100' }));
  let network = 0;
  beforeEach(() => {
    network++;
  });

  const post = (path: string, username: string, given: string, host: number): Promise<Answer> =>
    api.call('POST', `/api/auth/${path}`, {
      body: { username, password: given },
      headers: { 'X-Forwarded-For': `198.18.${network}.${host}` },
    });
  const attempt = (username: string, host: number, given = 'a wrong password'): Promise<Answer> => post('login', username, given, host);

  it('429 rate_limited after 10 attempts a minute from one address, for any usernames', async () => {
    expect(tally(await inParallel(10, (at) => attempt(`name${at}`, 1)))).to.deep.equal({ 401: 10 });
    const refused = await attempt('name99', 1);
    expect([refused.status, refused.body.code]).to.deep.equal([429, 'rate_limited']);
    expect(Number(refused.headers.get('Retry-After'))).to.be.within(1, 6);
    expect((await attempt('name99', 2)).status).to.equal(401);
  });

  it('200 for the right password from a new address after 20 wrong ones from other addresses', async () => {
    const { username } = await makePerson(api);
    expect(tally(await inParallel(20, (at) => attempt(username, 10 + (at % 4))))).to.deep.equal({ 401: 20 });
    expect((await attempt(username, 99, password)).status).to.equal(200);
  });

  it('registering a taken name does not count as a log-in attempt', async () => {
    const { username } = await makePerson(api);
    expect(tally(await inParallel(10, () => post('register', username, 'a good password', 1)))).to.deep.equal({ 409: 10 });
    expect(tally(await inParallel(10, () => attempt(username, 2, password)))).to.deep.equal({ 200: 10 });
  });

  /** Uses up the attempts for a username from host 1. */
  const useUp = async (username: string): Promise<void> => {
    const bucket = { key: `login-pair:198.18.${network}.1:${username}`, perSecond: 3 / 60, burst: 20 };
    await inParallel(20, () => api.platform.preflight({ bucket, versionsOf: [], needsId: false }));
  };

  it('each pair of username and address has its own bucket', async () => {
    const { username } = await makePerson(api);
    await useUp(username);
    expect((await attempt(username, 1, password)).status).to.equal(429);
    expect((await attempt(word('other'), 1)).status).to.equal(401);
    expect((await attempt(username, 2, password)).status).to.equal(200);
  });

  it('wrong passwords for changes of one’s account count as log-in attempts', async () => {
    const { username, as } = await makePerson(api);
    await useUp(username);
    for (const [method, path, body] of [
      ['PUT', 'password', { currentPassword: 'x', newPassword: 'another good password' }],
      ['POST', 'deletion', { password: 'x', messages: 'keep' }],
      ['POST', 'two-factor', { password: 'x' }],
      ['POST', 'two-factor/disable', { password: 'x', code: '1' }],
      ['POST', 'two-factor/recovery-codes', { password: 'x', code: '1' }],
    ] as const) {
      const answer = await api.call(method, `/api/users/@me/${path}`, { as, body, headers: { 'X-Forwarded-For': `198.18.${network}.1` } });
      expect([answer.status, answer.body.code], path).to.deep.equal([429, 'rate_limited']);
    }
  });

  it('429 rate_limited after 10 attempts a minute to log in by code from one address', async () => {
    const attemptCode = (): Promise<Answer> =>
      api.call('POST', '/api/auth/code', { body: { code: createSecret() }, headers: { 'X-Forwarded-For': `198.18.${network}.1` } });
    for (let at = 0; at < 10; at++) expect((await attemptCode()).status).to.equal(401);
    const answer = await attemptCode();
    expect([answer.status, answer.body.code]).to.deep.equal([429, 'rate_limited']);
  });
});

describe('the queue of passwords to hash', () => {
  const api = use(() => startTestApi({ TRUST_PROXY: '1' }));

  const attempt = (username: string, given: string, address: string): Promise<Answer> =>
    api.call('POST', '/api/auth/login', { body: { username, password: given }, headers: { 'X-Forwarded-For': address } });

  it('429 for more than 40 waiting log-ins of one address; another address does not wait for them', async () => {
    const { username } = await makePerson(api);
    const flood = inParallel(120, () => attempt('nobody', 'a wrong password', '198.19.0.1'));
    expect((await attempt(username, password, '198.19.0.2')).status).to.equal(200);
    const { 401: tried = 0, 429: refused = 0, ...rest } = tally(await flood);
    expect(rest).to.deep.equal({});
    expect(tried).to.be.at.least(40);
    expect(refused).to.be.at.least(1);
    const [answer] = (await flood).filter(({ status }) => status === 429);
    expect([answer?.body.code, answer?.headers.get('Retry-After')]).to.deep.equal(['rate_limited', '1']);
  });

  for (const [name, toAddress] of [
    ['IPv4', (at: number) => `198.20.${Math.floor(at / 200)}.${at % 200}`],
    ['IPv6, of one /48', (at: number) => `2001:db8:77:${(at * 16).toString(16)}::1`],
  ] as const)
    it(`400 addresses (${name}), each under its own limit, do not keep new addresses out`, async () => {
      const { username } = await makePerson(api);
      let left = 0;
      const flood = inParallel(600, async (at) => {
        left++;
        const answer = await attempt('nobody', 'a wrong password', toAddress(at % 400));
        left--;
        return answer;
      });
      for (let at = 0; at < 6; at++) {
        // Each comes while the queue is full.
        expect((await attempt(username, password, name === 'IPv4' ? `198.21.0.${at}` : `2001:db8:${at}::1`)).status).to.equal(200);
        expect(left).to.be.greaterThan(0);
      }
      const { 401: tried = 0, 503: refused = 0, ...rest } = tally(await flood);
      expect(rest).to.deep.equal({});
      expect([tried > 0, refused > 0]).to.deep.equal([true, true]);
    });

  it('503 with Retry-After for more than 200 waiting log-ins', async () => {
    const answers = await inParallel(300, (at) => attempt('nobody', 'a wrong password', `198.19.${1 + Math.floor(at / 250)}.${at % 250}`));
    const { 401: tried = 0, 503: refused = 0, ...rest } = tally(answers);
    expect(rest).to.deep.equal({});
    expect(tried).to.be.at.least(200);
    expect(refused).to.be.at.least(1);
    const answer = answers.find(({ status }) => status === 503);
    expect([answer?.body.code, answer?.headers.get('Retry-After')]).to.deep.equal(['unavailable', '2']);
  });
});
