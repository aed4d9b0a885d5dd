import { expect } from 'chai';
import type { LoginCode, OwnSession, Session } from '../../../lib/contract/auth.ts';
import { describeDevice } from '../../../lib/domain/accounts/device-name.ts';
import { Client } from '../../gateway/client.ts';
import { makePerson, password } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { startParlance } from '../../harness/parlance.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const newPassword = 'another good password';

describe('sessions of a person', () => {
  const api = use(() => startParlance({ TRUST_PROXY: '1' }));
  const person = make(() => makePerson(api), { each: true });

  const logIn = async (given = password, userAgent = firefox): Promise<Caller> => {
    const { status, body } = await api.call<Session>('POST', '/api/auth/login', {
      body: { username: person.username, password: given },
      headers: { 'User-Agent': userAgent, 'X-Forwarded-For': '203.0.113.9' },
    });
    expect(status).to.equal(200);
    return { ...person, token: body.token, as: `Bearer ${body.token}` };
  };
  const list = (as: Caller): Promise<OwnSession[]> => send(api, 200, as, 'GET', '/api/users/@me/sessions');
  const isAlive = async ({ as }: Caller): Promise<boolean> => (await api.call('GET', '/api/auth/me', { as })).status === 200;
  const connect = async ({ token }: Caller): Promise<Client> => {
    const socket = new Client(Number(new URL(api.gatewayUrl).port));
    await socket.identify(token);
    return socket;
  };

  it('GET lists the sessions with device and address, the last used first', async () => {
    const other = await logIn();
    const [first, second, ...rest] = await list(other);
    expect(rest).to.deep.equal([]);
    expect(first).to.include({ id: other.token.split('.')[0], device: 'Firefox on Linux', address: '203.0.113.9', current: true });
    expect(second).to.include({ id: person.token.split('.')[0], device: 'Unknown device', current: false });
    expect(JSON.stringify(await list(person))).to.not.include(other.token.split('.')[1]);
  });

  it('stores the time of the last use at most once in five minutes', async () => {
    const other = await logIn();
    const _id = other.token.split('.')[0] as string;
    const { tokens } = api.platform.db;
    const lastUsed = async (): Promise<string | undefined> => (await tokens.findOne({ _id }))?.lastUsedAt?.toISOString();
    const began = await lastUsed();
    await isAlive(other);
    expect(await lastUsed()).to.equal(began);
    const old = new Date(Date.now() - 6 * 60_000);
    await api.platform.accessVersions.runChange({ accounts: [person.id] }, () => tokens.updateOne({ _id }, { $set: { lastUsedAt: old } }));
    await isAlive(other);
    while ((await lastUsed()) === old.toISOString()) await new Promise((resolve) => setImmediate(resolve));
    expect(Date.parse((await lastUsed()) ?? '')).to.be.greaterThan(old.getTime());
  });

  it('a person has at most 50 sessions, also after 20 concurrent log-ins: the least recently used one ends', async () => {
    const sessions: Caller[] = [];
    while (sessions.length < 50) sessions.push(...(await inParallel(10, () => logIn())));
    const { tokens } = api.platform.db;
    const [oldest, ...others] = sessions as [Caller, ...Caller[]];
    await tokens.updateOne({ _id: oldest.token.split('.')[0] as string }, { $set: { lastUsedAt: new Date(0) } });
    const socket = await connect(oldest);
    await logIn();
    expect(await isAlive(oldest)).to.equal(false);
    expect(await socket.closed).to.equal(4004);
    expect(await isAlive(others.at(-1) as Caller)).to.equal(true);
    await inParallel(20, () => logIn());
    expect(await tokens.countDocuments({ accountId: person.id, slot: { $gte: 0 } })).to.equal(50);
  });

  it('DELETE of one ends it and its sockets at once; 404 for another person’s', async () => {
    const other = await logIn();
    const id = other.token.split('.')[0];
    const stranger = await makePerson(api);
    await refused(api, [404, 'not_found'], stranger, 'DELETE', `/api/users/@me/sessions/${id}`);
    const socket = await connect(other);
    await send(api, 204, person, 'DELETE', `/api/users/@me/sessions/${id}`);
    expect(await socket.closed).to.equal(4004);
    expect([await isAlive(other), await isAlive(person)]).to.deep.equal([false, true]);
    await refused(api, [404, 'not_found'], person, 'DELETE', `/api/users/@me/sessions/${id}`);
  });

  it('DELETE of all ends all other sessions with their sockets at once, and unused login codes', async () => {
    const others = [await logIn(), await logIn()];
    const { code } = await send<LoginCode>(api, 201, others[0] as Caller, 'POST', '/api/auth/codes');
    const [own, ...sockets] = await Promise.all([person, ...others].map(connect));
    await send(api, 204, person, 'DELETE', '/api/users/@me/sessions');
    expect(await Promise.all(sockets.map(({ closed }) => closed))).to.deep.equal([4004, 4004]);
    expect(await Promise.all([person, ...others].map(isAlive))).to.deep.equal([true, false, false]);
    expect((await list(person)).map(({ current }) => current)).to.deep.equal([true]);
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/code', { code });
    await own?.cut();
  });

  it('PUT password requires the old password and ends all other sessions; only the new password logs in', async () => {
    const other = await logIn();
    const socket = await connect(other);
    const change = { currentPassword: 'a wrong password', newPassword };
    const { errors } = await refused(api, [400, 'invalid_request'], person, 'PUT', '/api/users/@me/password', change);
    expect(errors?.map(({ path }) => path)).to.deep.equal(['/currentPassword']);
    expect(await isAlive(other)).to.equal(true);
    await send(api, 204, person, 'PUT', '/api/users/@me/password', { ...change, currentPassword: password });
    expect(await socket.closed).to.equal(4004);
    expect([await isAlive(other), await isAlive(person)]).to.deep.equal([false, true]);
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', { username: person.username, password });
    await logIn(newPassword);
  });

  it('a log-in with the old password at the moment of its change leaves no session', async () => {
    const body = { username: person.username, password };
    const answers = await Promise.all([
      api.call('PUT', '/api/users/@me/password', { as: person.as, body: { currentPassword: password, newPassword } }),
      ...Array.from({ length: 10 }, () => api.call<Session>('POST', '/api/auth/login', { body })),
    ]);
    expect(answers[0]?.status).to.equal(204);
    const opened = answers.slice(1).flatMap(({ status, body: { token } }) => (status === 200 ? [String(token)] : []));
    expect(tally(answers.slice(1))[200] ?? 0).to.equal(opened.length);
    for (const token of opened) expect(await isAlive({ ...person, as: `Bearer ${token}` })).to.equal(false);
  });

  describe('when the password is changed at the same moment', () => {
    const change = (to: string) => ({ currentPassword: password, newPassword: to });
    const changePassword = () => send(api, 204, person, 'PUT', '/api/users/@me/password', change(newPassword));

    it('401 for a log-in that has not stored its session', async () => {
      beforeNextQuery(api.platform.db.tokens, 'insertOne', changePassword);
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', { username: person.username, password });
      expect(await list(person)).to.have.length(1);
    });

    it('400 for another change from the same password', async () => {
      beforeNextQuery(api.platform.db.accounts, 'updateOne', changePassword);
      await refused(api, [400, 'invalid_request'], person, 'PUT', '/api/users/@me/password', change('a third good password'));
      await logIn(newPassword);
    });
  });

  it('a person has at most 50 sockets: the oldest one is closed', async () => {
    const sockets: Client[] = [];
    while (sockets.length < 50) sockets.push(await connect(person));
    const [oldest] = sockets;
    const last = await connect(person);
    expect(await oldest?.closed).to.be.a('number');
    await Promise.all([...sockets.slice(1), last].map((socket) => socket.cut()));
  });
});

describe('the name of a device', () => {
  const webKit = (system: string, version = '537.36'): string => `Mozilla/5.0 (${system}) AppleWebKit/${version} (KHTML, like Gecko)`;
  const iPhone = webKit('iPhone; CPU iPhone OS 18_5 like Mac OS X', '605.1.15').replace(' (KHTML, like Gecko)', '');
  const names: [userAgent: string, name: string][] = [
    [firefox, 'Firefox on Linux'],
    [`${webKit('Windows NT 10.0; Win64; x64')} Chrome/140.0.0.0 Safari/537.36`, 'Chrome on Windows'],
    [`${webKit('Windows NT 10.0')} Chrome/140.0 Safari/537.36 Edg/140.0`, 'Edge on Windows'],
    [`${webKit('Macintosh; Intel Mac OS X 10_15_7', '605.1.15')} Version/18.5 Safari/605.1.15`, 'Safari on macOS'],
    [`${iPhone} Version/18.5 Mobile/15E148 Safari/604.1`, 'Safari on iPhone'],
    [`${webKit('Linux; Android 15')} Chrome/140.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
    ['curl/8.14.1', 'curl'],
    ['', 'Unknown device'],
    ['<script>alert(1)</script>', 'Unknown device'],
    ['Mozilla/5.0', 'Unknown device'],
  ];
  it('is made of the browser and the system', () => {
    for (const [userAgent, name] of names) expect(describeDevice(userAgent), userAgent).to.equal(name);
  });
});
