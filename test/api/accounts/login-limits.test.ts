import { expect } from 'chai';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { makePerson, password, tally, word } from '../../harness/factories.ts';

const times = <T>(count: number, run: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => run(at)));

describe('limits of log-ins', () => {
  let api: TestApi;
  let network = 0;
  before(async () => {
    api = await startTestApi({ TRUST_PROXY: '1', RATE_LIMIT: '50/100' });
  });
  beforeEach(() => {
    network++;
  });
  after(() => api.close());

  const post = (path: string, username: string, given: string, host: number): Promise<Answer> =>
    api.call('POST', `/api/auth/${path}`, {
      body: { username, password: given },
      headers: { 'X-Forwarded-For': `198.18.${network}.${host}` },
    });
  const attempt = (username: string, host: number, given = 'a wrong password'): Promise<Answer> => post('login', username, given, host);

  it('429 rate_limited after 10 a minute from one address, for any names', async () => {
    expect(tally(await times(10, (at) => attempt(`name${at}`, 1)))).to.deep.equal({ 401: 10 });
    const refused = await attempt('name99', 1);
    expect([refused.status, refused.body.code]).to.deep.equal([429, 'rate_limited']);
    expect(Number(refused.headers.get('Retry-After'))).to.be.within(1, 6);
    expect((await attempt('name99', 2)).status).to.equal(401);
  });

  it('after 20 wrong passwords from other addresses the owner logs in from a fresh one', async () => {
    const { username } = await makePerson(api);
    expect(tally(await times(20, (at) => attempt(username, 10 + (at % 4))))).to.deep.equal({ 401: 20 });
    expect((await attempt(username, 99, password)).status).to.equal(200);
  });

  it('registering a taken name does not count as a try of its password', async () => {
    const { username } = await makePerson(api);
    expect(tally(await times(10, () => post('register', username, 'a good password', 1)))).to.deep.equal({ 409: 10 });
    expect(tally(await times(10, () => attempt(username, 2, password)))).to.deep.equal({ 200: 10 });
  });

  it('one name from one address has a bucket of its own, which other addresses do not share', async () => {
    const { username } = await makePerson(api);
    const key = `login-pair:198.18.${network}.1:${username}`;
    await times(20, () => api.platform.gate({ bucket: { key, perSecond: 3 / 60, burst: 20 }, versionsOf: [], wantId: false }));
    expect((await attempt(username, 1, password)).status).to.equal(429);
    expect((await attempt(word('other'), 1)).status).to.equal(401);
    expect((await attempt(username, 2, password)).status).to.equal(200);
  });
});

describe('the queue of passwords to be hashed', () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ TRUST_PROXY: '1' });
  });
  after(() => api.close());

  const attempt = (username: string, given: string, address: string): Promise<Answer> =>
    api.call('POST', '/api/auth/login', { body: { username, password: given }, headers: { 'X-Forwarded-For': address } });

  it('429 beyond 40 that wait of one address, and another address does not wait behind them', async () => {
    const { username } = await makePerson(api);
    const flood = times(120, () => attempt('nobody', 'a wrong password', '198.19.0.1'));
    expect((await attempt(username, password, '198.19.0.2')).status).to.equal(200);
    const { 401: tried = 0, 429: refused = 0, ...rest } = tally(await flood);
    expect(rest).to.deep.equal({});
    expect(tried).to.be.at.least(40);
    expect(refused).to.be.at.least(1);
    const [answer] = (await flood).filter(({ status }) => status === 429);
    expect([answer?.body.code, answer?.headers.get('Retry-After')]).to.deep.equal(['rate_limited', '1']);
  });

  it('503 with Retry-After beyond 200 that wait in all', async () => {
    const answers = await times(500, (at) => attempt('nobody', 'a wrong password', `198.19.${1 + Math.floor(at / 250)}.${at % 250}`));
    const { 401: tried = 0, 503: refused = 0, ...rest } = tally(answers);
    expect(rest).to.deep.equal({});
    expect(tried).to.be.at.least(200);
    expect(refused).to.be.at.least(1);
    const answer = answers.find(({ status }) => status === 503);
    expect([answer?.body.code, answer?.headers.get('Retry-After')]).to.deep.equal(['unavailable', '2']);
  });
});
