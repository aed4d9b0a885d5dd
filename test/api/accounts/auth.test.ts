import { hash } from '@node-rs/argon2';
import { expect } from 'chai';
import type { Me, Session } from '../../../lib/contract/user.ts';
import { hashing, nobodysHash } from '../../../lib/domain/accounts/passwords.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { authorize, makeApplication, makePerson, makeServer, password, refused, send, tally, word } from '../../harness/factories.ts';

const cookieOf = (headers: Headers): string => headers.get('Set-Cookie') ?? '';

describe('POST /api/auth/register', () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it('201 with the account and a token that works, and the cookie', async () => {
    const body = { username: 'first.one_1', password, displayName: '  First One ' };
    const answer = await api.call<Session>('POST', '/api/auth/register', { body });
    expect(answer.status).to.equal(201);
    const { user, token } = answer.body;
    expect(user).to.deep.include({ username: 'first.one_1', displayName: 'First One', bot: false, tag: null, status: 'online' });
    expect(user).to.not.have.property('applicationId');
    expect(cookieOf(answer.headers)).to.match(/^parlance_session=\S+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=7776000$/);
    const me = await api.call<Me>('GET', '/api/auth/me', { as: `Bearer ${token}` });
    expect(me.body).to.deep.equal(user);
  });

  it('stores neither the password nor the token', async () => {
    const { id, token } = await makePerson(api);
    const stored = JSON.stringify([
      await api.platform.db.accounts.findOne({ _id: id }).lean(),
      await api.platform.db.tokens.find({ accountId: id }).lean(),
    ]);
    expect(stored).to.include('$argon2id$').and.not.include(password);
    expect(stored).to.not.include(token.split('.')[1]);
  });

  const bad: [what: string, body: unknown, path: string][] = [
    ['a short name', { username: 'a', password }, '/username'],
    ['a long name', { username: 'a'.repeat(33), password }, '/username'],
    ['capitals', { username: 'Alice', password }, '/username'],
    ['a space', { username: 'al ice', password }, '/username'],
    ['a name that is a number', { username: 12345, password }, '/username'],
    ['no name', { password }, '/username'],
    ['a short password', { username: 'alice', password: '1234567' }, '/password'],
    ['a long password', { username: 'alice', password: 'x'.repeat(257) }, '/password'],
    ['a blank display name', { username: 'alice', password, displayName: '  ' }, '/displayName'],
    ['a display name of two lines', { username: 'alice', password, displayName: 'a\nb' }, '/displayName'],
    ['a null display name', { username: 'alice', password, displayName: null }, '/displayName'],
  ];
  for (const [what, body, path] of bad)
    it(`400 invalid_request for ${what}`, async () => {
      const { errors } = await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/register', body);
      expect(errors?.[0]?.path).to.equal(path);
    });

  it('passwords are counted in code points', async () => {
    await send(api, 201, null, 'POST', '/api/auth/register', { username: word('emoji'), password: '🔑'.repeat(256) });
    await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/register', { username: word('emoji'), password: '🔑'.repeat(7) });
  });

  it('409 username_taken, and once only when 20 want one name at once', async () => {
    const { username } = await makePerson(api);
    await refused(api, [409, 'username_taken'], null, 'POST', '/api/auth/register', { username, password });
    const body = { username: word('wanted'), password };
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.call('POST', '/api/auth/register', { body })));
    expect(tally(answers)).to.deep.equal({ 201: 1, 409: 19 });
  });

  it('the same Idempotency-Key gives the first answer again, kept encrypted', async () => {
    const options = { body: { username: word('again'), password }, headers: { 'Idempotency-Key': 'k1' } };
    const first = await api.call<Session>('POST', '/api/auth/register', options);
    const second = await api.call<Session>('POST', '/api/auth/register', options);
    expect(second.status).to.equal(201);
    expect(second.body).to.deep.equal(first.body);
    expect(JSON.stringify(await api.platform.db.idempotency.find().lean())).to.not.include(first.body.token);
  });
});

describe('POST /api/auth/login, /logout, GET /api/auth/me', () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it('200 with another token; both work until logout, which ends only its own', async () => {
    const person = await makePerson(api);
    const { token, user } = await send<Session>(api, 200, null, 'POST', '/api/auth/login', { username: person.username, password });
    expect(user.id).to.equal(person.id);
    const other = { ...person, token, as: `Bearer ${token}` };
    await send(api, 200, other, 'GET', '/api/auth/me');
    const answer = await api.call('POST', '/api/auth/logout', { as: other.as });
    expect(answer.status).to.equal(204);
    expect(cookieOf(answer.headers)).to.match(/^parlance_session=;.*Max-Age=0/);
    await refused(api, [401, 'unauthorized'], other, 'GET', '/api/auth/me');
    await send(api, 200, person, 'GET', '/api/auth/me');
  });

  it('401 alike for an unknown name, a wrong password and a bot’s name', async () => {
    const person = await makePerson(api);
    const bot = await makeApplication(api, person, word('robot'));
    const answers = await Promise.all(
      [
        { username: 'nobody_here', password },
        { username: person.username, password: `${password}!` },
        { username: bot.username, password },
        { username: 'No Such Name', password },
      ].map((body) => refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', body)),
    );
    expect(new Set(answers.map((one) => one.message)).size).to.equal(1);
  });

  it('an unknown name costs the same hash as a known one', async () => {
    const costOf = (text: string): string => text.split('$').slice(0, 4).join('$');
    expect(costOf(nobodysHash)).to.equal(costOf(await hash('x', hashing)));
  });

  const bad: [what: string, body: unknown][] = [
    ['no password', { username: 'alice' }],
    ['a number', { username: 'alice', password: 1 }],
    ['operators', { username: { $ne: null }, password }],
    ['a list', []],
  ];
  for (const [what, body] of bad)
    it(`400 invalid_request for ${what}`, () => refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/login', body));

  it('GET /api/auth/me of a bot tells its application', async () => {
    const person = await makePerson(api);
    const bot = await makeApplication(api, person, 'Herald');
    const me = await send<Me>(api, 200, bot, 'GET', '/api/auth/me');
    expect(me).to.deep.include({ id: bot.id, username: 'Herald', tag: 'bot', bot: true, applicationId: bot.applicationId });
  });

  it('403 bots_not_allowed: a bot cannot log out', async () => {
    const bot = await makeApplication(api, await makePerson(api));
    await refused(api, [403, 'bots_not_allowed'], bot, 'POST', '/api/auth/logout');
  });

  it('401 unauthorized for a missing, malformed or unknown credential, with WWW-Authenticate', async () => {
    const { token } = await makePerson(api);
    const other = token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    for (const as of [undefined, token, `bearer ${token}`, `Basic ${token}`, `Bearer  ${token}`, `Bearer ${other}`, 'Bot x.y', 'Bearer ']) {
      const answer = await api.call('GET', '/api/auth/me', { as });
      expect([answer.status, answer.headers.get('WWW-Authenticate')], String(as)).to.deep.equal([401, 'Bot, Bearer']);
    }
  });

  it('401 unauthorized for a token under the other scheme: a bot’s is no session, a session is no bot', async () => {
    const person = await makePerson(api);
    const bot = await makeApplication(api, person);
    await send(api, 200, bot, 'GET', '/api/auth/me');
    await refused(api, [401, 'unauthorized'], { ...bot, as: `Bearer ${bot.token}` }, 'GET', '/api/auth/me');
    await refused(api, [401, 'unauthorized'], { ...person, as: `Bot ${person.token}` }, 'GET', '/api/auth/me');
    const headers = { Cookie: `parlance_session=${bot.token}` };
    expect((await api.call('GET', '/api/auth/me', { headers })).status).to.equal(401);
  });

  it('a session that has ended is 401', async () => {
    const person = await makePerson(api);
    await api.platform.versions.changing({ accounts: [person.id] }, () =>
      api.platform.db.tokens.updateMany({ accountId: person.id }, { $set: { expiresAt: new Date(0) } }),
    );
    await refused(api, [401, 'unauthorized'], person, 'GET', '/api/auth/me');
  });

  it('the cookie reads anywhere and writes only with our Origin', async () => {
    const person = await makePerson(api);
    const cookie = `parlance_session=${person.token}`;
    expect((await api.call('GET', '/api/auth/me', { headers: { Cookie: cookie } })).status).to.equal(200);
    const post = async (headers: Record<string, string>): Promise<number> =>
      (await api.call('POST', '/api/servers', { body: { name: 'by cookie' }, headers: { Cookie: cookie, ...headers } })).status;
    expect(await post({})).to.equal(401);
    expect(await post({ Origin: 'https://elsewhere.example' })).to.equal(401);
    expect(await post({ Origin: new URL(api.platform.config.baseUrl).origin })).to.equal(201);
  });

  it('a bot’s membership does not outlive its token’s reset: the old token is 401 at once, the new one sees the same', async () => {
    const person = await makePerson(api);
    const server = await makeServer(api, person);
    const bot = await makeApplication(api, person);
    await authorize(api, person, bot, server.id);
    await send(api, 200, bot, 'GET', `/api/servers/${server.id}`);
    const { token } = await send<{ token: string }>(api, 200, person, 'POST', `/api/applications/${bot.applicationId}/token`);
    await refused(api, [401, 'unauthorized'], bot, 'GET', '/api/auth/me');
    await send(api, 200, { ...bot, as: `Bot ${token}` }, 'GET', `/api/servers/${server.id}`);
  });
});
