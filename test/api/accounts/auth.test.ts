// Tests of accounts: registration, logging in and sessions, profiles, presence, pictures, and the sync of everything that a client shows.
import { hash } from '@node-rs/argon2';
import { expect } from 'chai';
import type { Session } from '../../../lib/contract/auth.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { dummyHash, hashOptions } from '../../../lib/domain/accounts/passwords.ts';
import { startSecondApi, startTestApi } from '../../harness/api.ts';
import { expireInvite, makeApplication, makeInvite, makePerson, password, word } from '../../harness/factories.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { use, useServer } from '../../harness/use.ts';

const cookieOf = (headers: Headers): string => headers.get('Set-Cookie') ?? '';

describe('POST /api/auth/register, /login, /logout, GET /api/auth/me', () => {
  const api = use(startTestApi);

  it('201 with the account, a valid token and the session cookie; neither the password nor the token is stored', async () => {
    const body = { username: 'first.one_1', password, displayName: '  First One ' };
    const answer = await api.call<Session>('POST', '/api/auth/register', { body });
    expect(answer.status).to.equal(201);
    const { user, token } = answer.body;
    expect(user).to.deep.include({ username: 'first.one_1', displayName: 'First One', bot: false, tag: null, status: 'online' });
    expect(user).to.not.have.property('applicationId');
    expect(cookieOf(answer.headers)).to.match(/^parlance_session=\S+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=7776000$/);
    const me = await api.call<Me>('GET', '/api/auth/me', { as: `Bearer ${token}` });
    expect(me.body).to.deep.equal(user);
    const { accounts, tokens } = api.platform.db;
    const stored = JSON.stringify([await accounts.findOne({ _id: user.id }), await tokens.find({ accountId: user.id }).toArray()]);
    expect(stored).to.include('$argon2id$').and.not.include(password);
    expect(stored).to.not.include(token.split('.')[1]);
  });

  it('registration: 400 invalid_request for names and passwords that are not allowed; a password’s length is counted in code points', async () => {
    const good = { username: 'alice', password };
    for (const [path, ...values] of [
      ['username', 'a', 'a'.repeat(33), 'Alice', 'al ice', 12345, undefined],
      ['password', '1234567', '🔑'.repeat(7), 'x'.repeat(257)],
      ['displayName', '  ', 'a\nb', null],
    ] as const)
      for (const value of values) {
        const body = { ...good, [path]: value };
        const { errors } = await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/register', body);
        expect(errors?.[0]?.path, JSON.stringify(body)).to.equal(`/${path}`);
      }
    await send(api, 201, null, 'POST', '/api/auth/register', { username: word('emoji'), password: '🔑'.repeat(256) });
  });

  it('409 username_taken for a taken name; one of 20 concurrent registrations of a name succeeds', async () => {
    const { username } = await makePerson(api);
    await refused(api, [409, 'username_taken'], null, 'POST', '/api/auth/register', { username, password });
    const body = { username: word('wanted'), password };
    const answers = await inParallel(20, () => api.call('POST', '/api/auth/register', { body }));
    expect(tally(answers)).to.deep.equal({ 201: 1, 409: 19 });
  });

  it('returns the first response again for the same Idempotency-Key, and stores it encrypted', async () => {
    const options = { body: { username: word('again'), password }, headers: { 'Idempotency-Key': 'k1' } };
    const first = await api.call<Session>('POST', '/api/auth/register', options);
    const second = await api.call<Session>('POST', '/api/auth/register', options);
    expect(second.status).to.equal(201);
    expect(second.body).to.deep.equal(first.body);
    expect(JSON.stringify(await api.platform.db.idempotency.find().toArray())).to.not.include(first.body.token);
  });

  it('login: 200 with another token; logout ends only the session of its token', async () => {
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

  it('login: the same 401 for an unknown name, a wrong password and a bot’s name', async () => {
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

  it('an unknown name is hashed at the same cost as a known one', async () => {
    const costOf = (text: string): string => text.split('$').slice(0, 4).join('$');
    expect(costOf(dummyHash)).to.equal(costOf(await hash('x', hashOptions)));
  });

  it('login: 400 invalid_request for a missing password and for what is no text', async () => {
    for (const body of [{ username: 'alice' }, { username: 'alice', password: 1 }, { username: { $ne: null }, password }, []])
      await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/login', body);
  });

  it('GET /api/auth/me of a bot contains its application', async () => {
    const person = await makePerson(api);
    const bot = await makeApplication(api, person, 'Herald');
    const me = await send<Me>(api, 200, bot, 'GET', '/api/auth/me');
    expect(me).to.deep.include({ id: bot.id, username: 'Herald', tag: 'bot', bot: true, applicationId: bot.applicationId });
  });

  it('401 unauthorized for a missing, malformed or unknown credential, with WWW-Authenticate', async () => {
    const { token } = await makePerson(api);
    const other = token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    for (const as of [undefined, token, `bearer ${token}`, `Basic ${token}`, `Bearer  ${token}`, `Bearer ${other}`, 'Bot x.y', 'Bearer ']) {
      const answer = await api.call('GET', '/api/auth/me', { as });
      expect([answer.status, answer.headers.get('WWW-Authenticate')], String(as)).to.deep.equal([401, 'Bot, Bearer']);
    }
  });

  it('401 unauthorized for a bot’s token as Bearer or cookie, and for a session’s token as Bot', async () => {
    const person = await makePerson(api);
    const bot = await makeApplication(api, person);
    await send(api, 200, bot, 'GET', '/api/auth/me');
    await refused(api, [401, 'unauthorized'], { ...bot, as: `Bearer ${bot.token}` }, 'GET', '/api/auth/me');
    await refused(api, [401, 'unauthorized'], { ...person, as: `Bot ${person.token}` }, 'GET', '/api/auth/me');
    const headers = { Cookie: `parlance_session=${bot.token}` };
    expect((await api.call('GET', '/api/auth/me', { headers })).status).to.equal(401);
  });

  it('401 unauthorized for an expired session', async () => {
    const person = await makePerson(api);
    await api.platform.accessVersions.runChange({ accounts: [person.id] }, () =>
      api.platform.db.tokens.updateMany({ accountId: person.id }, { $set: { expiresAt: new Date(0) } }),
    );
    await refused(api, [401, 'unauthorized'], person, 'GET', '/api/auth/me');
  });

  it('200 for reads with the cookie; writes with it need the Origin of this installation', async () => {
    const person = await makePerson(api);
    const cookie = `parlance_session=${person.token}`;
    expect((await api.call('GET', '/api/auth/me', { headers: { Cookie: cookie } })).status).to.equal(200);
    const post = async (headers: Record<string, string>): Promise<number> =>
      (await api.call('POST', '/api/servers', { body: { name: 'by cookie' }, headers: { Cookie: cookie, ...headers } })).status;
    expect(await post({})).to.equal(401);
    expect(await post({ Origin: 'https://elsewhere.example' })).to.equal(401);
    expect(await post({ Origin: new URL(api.platform.config.baseUrl).origin })).to.equal(201);
  });

  it('under https the cookie has a prefix that no other host can set; the cookie of earlier sessions works until the next login', async () => {
    const secure = await startTestApi({ BASE_URL: 'https://chat.example.org' });
    try {
      const person = await makePerson(secure);
      const body = { username: person.username, password };
      const old = { Cookie: `parlance_session=${person.token}` };
      expect((await secure.call('GET', '/api/auth/me', { headers: old })).status).to.equal(200);
      const first = await secure.call<Session>('POST', '/api/auth/login', { body });
      const [set, ...none] = first.headers.getSetCookie();
      expect(set).to.match(/^__Host-parlance_session=\S+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=7776000; Secure$/);
      expect(none).to.deep.equal([]);
      const bot = await makeApplication(secure, person);
      const both = { Cookie: `parlance_session=${bot.token}; __Host-parlance_session=${first.body.token}` };
      expect((await secure.call('GET', '/api/auth/me', { headers: both })).status).to.equal(200);
      const again = await secure.call('POST', '/api/auth/login', { body, headers: old });
      expect(again.headers.getSetCookie()[1]).to.equal('parlance_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure');
      const out = await secure.call('POST', '/api/auth/logout', { headers: { ...both, Origin: 'https://chat.example.org' } });
      expect(out.headers.getSetCookie().map((one) => one.split(';')[0])).to.deep.equal(['__Host-parlance_session=', 'parlance_session=']);
    } finally {
      await secure.close();
    }
  });
});

describe('settings of registration and of the creation of servers', () => {
  const { api, owner, server } = useServer();
  const closed = use(() => startSecondApi(api, { REGISTRATION: 'closed' }));
  const byInvite = use(() => startSecondApi(api, { REGISTRATION: 'invite', SERVER_CREATION: 'operators' }));

  it('by default everybody can create an account and a server', async () => {
    const settings = { registration: 'open', serverCreation: 'everyone', signIn: null };
    expect(await send(api, 200, null, 'GET', '/api/instance')).to.deep.equal(settings);
    await send(api, 201, null, 'POST', '/api/auth/register', { username: word('open'), password, invite: 'ignored' });
  });

  it('REGISTRATION=closed refuses every registration and creates nothing; logins work', async () => {
    const { code } = await makeInvite(api, owner, server.id);
    const body = { username: word('closed'), password, invite: code };
    await refused(closed, [403, 'registration_closed'], null, 'POST', '/api/auth/register', body);
    expect(await api.platform.db.accounts.countDocuments({ username: body.username })).to.equal(0);
    await send(closed, 200, null, 'POST', '/api/auth/login', { username: owner.username, password });
    expect(await send(closed, 200, null, 'GET', '/api/instance')).to.include({ registration: 'closed' });
  });

  it('REGISTRATION=invite needs an invite that admits somebody, takes no use of it, and the person joins by it', async () => {
    const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
    const body = { username: word('invited'), password };
    const register = (status: number, error: string, invite?: string) =>
      refused(byInvite, [status, error], null, 'POST', '/api/auth/register', { ...body, ...(invite === undefined ? {} : { invite }) });
    await register(403, 'invite_required');
    for (const unknown of ['', 'unknown', '$ne']) await register(404, 'not_found', unknown);
    const expired = await makeInvite(api, owner, server.id);
    await expireInvite(api, expired.code);
    await register(404, 'not_found', expired.code);
    await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { invitesPaused: true });
    await register(403, 'invites_paused', code);
    await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { invitesPaused: false });
    expect(await api.platform.db.accounts.countDocuments({ username: body.username })).to.equal(0);
    const { token, user } = await send<Session>(byInvite, 201, null, 'POST', '/api/auth/register', { ...body, invite: code });
    const person = { id: user.id, username: user.username, token, as: `Bearer ${token}` };
    await send(byInvite, 200, person, 'POST', `/api/invites/${code}`);
    await register(404, 'not_found', code); // it is used up now
  });

  it('SERVER_CREATION=operators refuses POST /api/servers', async () => {
    await refused(byInvite, [403, 'server_creation_restricted'], owner, 'POST', '/api/servers', { name: 'mine' });
    expect(await api.platform.db.servers.countDocuments({ name: 'mine' })).to.equal(0);
  });
});
