import { expect } from 'chai';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import type { Server } from '../../lib/contract/server.ts';
import { listOperatorAudit } from '../../lib/domain/operators/audit.ts';
import { sha256 } from '../../lib/store/seal.ts';
import { makeApplication, makeMember, makePerson, makeServer, password, unknownId } from '../harness/factories.ts';
import { interceptNext } from '../harness/intercept.ts';
import { type Caller, refused, send } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';
import { type OpsRequest, startTestOps } from './test-ops.ts';

const logged: string[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });

/** The text of a page without its tags and entities of quotation marks. */
const textOf = (markup: string): string => markup.replace(/<[^>]*>/g, '').replaceAll('&#39;', "'");

describe('operators’ pages for people and servers', () => {
  const api = use(() => startTestOps({ log }));
  const person = make(() => makePerson(api), { each: true });

  const show = async (path: string, status = 200): Promise<string> => {
    const answer = await api.ops('GET', path);
    expect(answer.status, `GET ${path}: ${answer.text}`).to.equal(status);
    return answer.text;
  };
  const post = (path: string, form: Record<string, string> = {}, request: OpsRequest = {}) => api.ops('POST', path, { form, ...request });
  /** Posts a form, follows the redirect, and returns the page that it leads to. */
  const act = async (path: string, form: Record<string, string> = {}, request: OpsRequest = {}): Promise<string> => {
    const { status, headers, text } = await post(path, form, request);
    expect(status, text).to.equal(303);
    return show(headers.get('location') ?? '');
  };
  const newest = async () => (await listOperatorAudit(api.platform, { limit: 1 })).items[0];
  const isAlive = async ({ as }: Caller): Promise<boolean> => (await api.call('GET', '/api/auth/me', { as })).status === 200;
  const linksIn = (page: string, path: string): string[] =>
    [...page.matchAll(new RegExp(`href="${path}/(\\d+)"`, 'g'))].map(([, id = '']) => id);
  const nextIn = (page: string): string | undefined => /<a href="([^"]+)">Next page<\/a>/.exec(page)?.[1]?.replaceAll('&amp;', '&');

  it('/people lists people by username in pages, and finds by the beginning of the name and by id', async () => {
    const prefix = `listed${person.id}`.slice(0, 26);
    const docs = Array.from({ length: 51 }, (_, at) => ({ username: `${prefix}_${String(at).padStart(2, '0')}` }));
    const made = [];
    for (const { username } of docs) made.push(await makePerson(api, username));
    const first = await show(`/people?query=${prefix.toUpperCase()}`);
    expect(linksIn(first, '/people')).to.deep.equal(made.slice(0, 50).map(({ id }) => id));
    const second = await show(nextIn(first) ?? '');
    expect(linksIn(second, '/people')).to.deep.equal([made[50]?.id]);
    expect(nextIn(second)).to.equal(undefined);
    expect(linksIn(await show(`/people?query=${person.id}`), '/people')).to.deep.equal([person.id]);
    const bot = await makeApplication(api, person);
    expect(linksIn(await show(`/people?query=${bot.id}`), '/people')).to.deep.equal([bot.id]);
    expect(await show('/people?query=.*')).to.contain('None.');
    for (const query of ['?query=a&query=b', `?query=${'a'.repeat(101)}`, `?after=${'a'.repeat(101)}`]) await show(`/people${query}`, 400);
  });

  it('/people/<id> shows the account, and only the actions that apply', async () => {
    const server = await makeServer(api, person);
    const bot = await makeApplication(api, person);
    const page = await show(`/people/${person.id}`);
    expect(textOf(page)).to.match(/Sessions1\n.*Last use.*\n.*\n.*Servers1\n/);
    expect(linksIn(page, '/servers')).to.deep.equal([server.id]);
    const actions = (of: string): string[] => [...of.matchAll(/href="\/people\/\d+\/([a-z-]+)"/g)].map(([, name = '']) => name);
    expect(actions(page)).to.deep.equal(['reset-password', 'end-sessions', 'suspend', 'delete-account']);
    expect(actions(await show(`/people/${bot.id}`))).to.deep.equal([]);
    for (const id of [unknownId, 'x', '%00', '$ne']) {
      await show(`/people/${id}`, 404);
      await show(`/people/${id}/suspend`, 404);
      expect((await post(`/people/${id}/suspend`)).status).to.equal(404);
    }
    await show(`/people/${person.id}/nothing`, 404);
    await show(`/people/${person.id}/toString`, 404);
  });

  it('suspends a person with a reason, and ends the suspension', async () => {
    const form = await show(`/people/${person.id}/suspend`);
    expect(form).to.contain('method="post"').and.contain('name="reason"');
    expect(await isAlive(person), 'the form changes nothing').to.equal(true);
    const after = await act(`/people/${person.id}/suspend`, { reason: ' spam & <b>eggs</b> ' }, { user: 'ops.ada' });
    expect(after).to.contain(`role="status">${person.username}: suspended. All sessions have ended.`);
    expect(after).to.contain('spam &amp; &lt;b&gt;eggs&lt;/b&gt;').and.contain(`/people/${person.id}/unsuspend`);
    expect(await isAlive(person)).to.equal(false);
    await refused(api, [403, 'account_suspended'], null, 'POST', '/api/auth/login', { username: person.username, password });
    expect(await newest()).to.deep.include({
      operator: 'ops.ada from 127.0.0.1',
      command: 'suspend',
      given: { userId: person.id, reason: 'spam & <b>eggs</b>' },
      outcome: 'done',
      targetId: person.id,
    });
    expect(await act(`/people/${person.id}/suspend`)).to.contain('already suspended, unchanged.');
    expect(await newest()).to.include({ operator: 'ops from 127.0.0.1', outcome: 'unchanged' });
    expect(await act(`/people/${person.id}/unsuspend`)).to.contain('no longer suspended.');
    expect((await api.call('POST', '/api/auth/login', { body: { username: person.username, password } })).status).to.equal(200);
    const long = await post(`/people/${person.id}/suspend`, { reason: 'a'.repeat(513) });
    expect([long.status, long.text.includes('role="alert"')]).to.deep.equal([400, true]);
    expect((await api.platform.db.accounts.findOne({ _id: person.id }))?.suspendedAt).to.equal(undefined);
  });

  it('refuses actions on bots with an entry in the audit log', async () => {
    const bot = await makeApplication(api, person);
    for (const action of ['suspend', 'reset-password', 'end-sessions']) {
      const { status, text } = await post(`/people/${bot.id}/${action}`);
      expect([status, textOf(text)], action).to.satisfy(
        ([code, page]: [number, string]) => code === 400 && page.includes('not a person’s'),
      );
      expect(await newest()).to.include({ command: action, outcome: 'invalid_request' });
    }
  });

  it('ends sessions', async () => {
    expect(await act(`/people/${person.id}/end-sessions`)).to.contain('all sessions have ended.');
    expect(await isAlive(person)).to.equal(false);
    expect(await newest()).to.include({ command: 'end-sessions', outcome: 'done', targetId: person.id });
  });

  it('schedules and cancels the deletion of an account, and resets two-factor authentication', async () => {
    const path = `/people/${person.id}`;
    expect(await show(`${path}/delete-account`)).to.contain('<option value="delete">');
    const { username } = person;
    const wrong: Record<string, string>[] = [{ username: 'x', messages: 'keep' }, { username, messages: 'x' }, { username }];
    for (const form of wrong) expect((await post(`${path}/delete-account`, form)).status).to.equal(400);
    expect((await api.platform.db.accounts.findOne({ _id: person.id }))?.deletion).to.equal(undefined);
    expect(await act(`${path}/delete-account`, { username, messages: 'delete' })).to.contain('The messages are deleted, too.');
    expect(textOf(await show(path))).to.match(/Deletion.*, messages: delete/);
    expect(await act(`${path}/keep-account`)).to.contain('will not be deleted.');
    const twoFactor = { secret: 'x', enabledAt: new Date(), lastStep: 0, recoveryCodes: [] };
    await api.platform.db.accounts.updateOne({ _id: person.id }, { $set: { twoFactor } });
    expect(await act(`${path}/reset-two-factor`)).to.contain('The password alone logs in.');
    expect(await newest()).to.include({ command: 'reset-two-factor', outcome: 'done', targetId: person.id });
    expect(await show(path)).not.to.contain('Unlink account');
    const identity = { issuer: 'https://sso.example.org', subject: `subject ${person.id}`, linkedAt: new Date() };
    await api.platform.db.accounts.updateOne({ _id: person.id }, { $set: { identity } });
    expect(textOf(await show(path))).to.match(/Linked account.*https:\/\/sso\.example\.org/);
    expect(await act(`${path}/unlink-sign-in`)).to.contain('logs in to it now');
    expect(await newest()).to.include({ command: 'unlink-sign-in', outcome: 'done', targetId: person.id });
  });

  it('shows the link of a new password once, in a response that is not stored, and in no log', async () => {
    const { status, headers, text } = await post(`/people/${person.id}/reset-password`);
    expect([status, headers.get('cache-control')]).to.deep.equal([200, 'no-store']);
    const [link = '', code = ''] = /http:\/\/[^<#]+\/reset-password#code=([A-Za-z0-9_-]{43})/.exec(text) ?? [];
    expect(text.split(code)).to.have.length(2);
    expect(text, 'not a link, because whoever opens it could use it up').not.to.contain(`href="${link}`);
    for (const path of [`/people/${person.id}`, `/people/${person.id}/reset-password`, '/audit'])
      expect(await show(path)).not.to.contain(code);
    const { operatorAudit, passwordResets } = api.platform.db;
    expect(JSON.stringify(await operatorAudit.find({}).toArray())).not.to.contain(code);
    expect(await passwordResets.countDocuments({ _id: sha256(code), accountId: person.id })).to.equal(1);
    const newPassword = 'another good password';
    expect((await api.call('POST', '/api/auth/password-reset', { body: { code, newPassword } })).status).to.equal(204);
    expect(await isAlive(person)).to.equal(false);
    log.info('the log is read');
    expect(logged.join('')).to.contain('the log is read').and.not.contain(code);
  });

  it('/servers lists servers, finds by the beginning of the name and by id, and shows a server', async () => {
    const name = `Überblick ${person.id}`;
    const [a, b] = [await makeServer(api, person, `${name} a`), await makeServer(api, person, `${name} b`)];
    expect(linksIn(await show(`/servers?query=${encodeURIComponent(name.toUpperCase())}`), '/servers')).to.deep.equal([a.id, b.id]);
    expect(linksIn(await show(`/servers?query=${b.id}`), '/servers')).to.deep.equal([b.id]);
    await api.platform.db.servers.updateOne({ _id: a.id }, { $set: { storedBytes: 10_000_000, types: ['official'] } });
    const page = await show(`/servers/${a.id}`);
    expect(linksIn(page, '/people')).to.deep.equal([person.id]);
    expect(textOf(page)).to.contain('Members1').and.contain('Files9.5 MiB').and.contain('Typesofficial');
    await show(`/servers/${unknownId}`, 404);
  });

  it('transfers a server to a member, who is named by username or id', async () => {
    const server = await makeServer(api, person);
    const [member, peer] = [await makeMember(api, person, server.id), await makeMember(api, person, server.id)];
    const path = `/servers/${server.id}/transfer`;
    expect(await show(path)).to.contain('name="owner"');
    expect(await act(path, { owner: member.username.toUpperCase() })).to.contain(`owned by ${member.id} now.`);
    expect((await send<Server>(api, 200, person, 'GET', `/api/servers/${server.id}`)).ownerId).to.equal(member.id);
    expect(await newest()).to.deep.include({
      command: 'transfer-server',
      given: { serverId: server.id, userId: member.id },
      outcome: 'done',
    });
    await act(path, { owner: peer.id });
    const stranger = await makePerson(api);
    for (const [owner, status] of [
      [stranger.username, 400],
      [stranger.id, 400],
      ['person', 404],
      [unknownId, 404],
      ['', 400],
    ] as const)
      expect((await post(path, { owner })).status, owner).to.equal(status);
    expect((await api.platform.db.servers.findOne({ _id: server.id }))?.ownerId).to.equal(peer.id);
  });

  it('deletes a server only if its name was typed, and wakes a worker', async () => {
    const server = await makeServer(api, person, ' Chess club');
    const path = `/servers/${server.id}/delete`;
    const entries = await api.platform.db.operatorAudit.countDocuments({});
    for (const form of [{}, { name: '' }, { name: 'chess club' }, { name: 'Chess club 2' }] as Record<string, string>[])
      expect((await post(path, form)).status).to.equal(400);
    await send(api, 200, person, 'GET', `/api/servers/${server.id}`);
    expect(await api.platform.db.operatorAudit.countDocuments({})).to.equal(entries);
    const list = await act(path, { name: ' Chess club ' });
    expect(list).to.contain('Chess club: deleted.').and.contain('<h2>Servers</h2>');
    await send(api, 404, person, 'GET', `/api/servers/${server.id}`);
    while ((await api.platform.jobs.countWaiting('upkeep')) === 0);
    expect(await newest()).to.include({ command: 'delete-server', outcome: 'done', targetId: server.id });
  });

  it('/audit shows the entries of both, newest first, in pages', async () => {
    for (let at = 0; at < 51; at++) await post(`/people/${person.id}/end-sessions`, {}, { user: `ops.op${at}` });
    const first = await show('/audit');
    expect(first.indexOf('ops.op50 from')).to.be.within(1, first.indexOf('ops.op49 from'));
    expect(linksIn(first, '/people')).to.have.length(50);
    expect(first).not.to.contain('ops.op0 from');
    expect(await show(nextIn(first) ?? '')).to.contain('ops.op0 from');
  });

  it('503 with a page while the database is away, and 500 without detail for an error, which is logged', async () => {
    const { accounts } = api.opsPlatform.db;
    interceptNext(accounts, 'findOne', () => Promise.reject(new mongo.MongoNetworkError('connection refused')));
    expect(await show(`/people/${person.id}`, 503)).to.contain('The database cannot be reached: connection refused. Try again');
    interceptNext(accounts, 'updateOne', () => Promise.reject(new mongo.MongoNetworkError('connection refused')));
    const { status, text } = await post(`/people/${person.id}/suspend`, { reason: 'kept' });
    expect(status).to.equal(503);
    expect(text).to.contain('role="alert"').and.contain('value="kept"');
    expect(await newest()).to.include({ command: 'suspend', outcome: 'started' });
    interceptNext(accounts, 'findOne', () => Promise.reject(new Error('a secret detail')));
    expect(await show(`/people/${person.id}`, 500)).to.equal('Internal Server Error');
    expect(logged.join('')).to.contain('a secret detail');
  });

  it('shows hostile text as text', async () => {
    const script = `<script>window.ran=1</script>"'&`;
    const server = await makeServer(api, person, script);
    await api.platform.db.accounts.updateOne({ _id: person.id }, { $set: { displayName: script, suspendedReason: script } });
    await post(`/people/${person.id}/suspend`, { reason: script });
    for (const path of [
      `/people?query=${person.username}`,
      `/people?query=${encodeURIComponent(script)}`,
      `/people/${person.id}`,
      `/people/${person.id}/suspend`,
      `/servers?query=${encodeURIComponent(script)}`,
      `/servers/${server.id}`,
      `/servers/${server.id}/delete`,
      '/audit',
    ])
      expect(await show(path), path)
        .to.contain('&lt;script&gt;window.ran=1&lt;/script&gt;')
        .and.not.contain('<script');
    const { text } = await post(`/servers/${server.id}/delete`, { name: `${script}2` });
    expect(text).to.contain('&lt;script&gt;window.ran=1&lt;/script&gt;&quot;&#39;&amp;2').and.not.contain('<script');
  });
});
