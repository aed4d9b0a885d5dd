import { expect } from 'chai';
import type { Result } from '../../apps/operator/result.ts';
import { limits } from '../../lib/base/limits.ts';
import type { LoginCode, Session } from '../../lib/contract/auth.ts';
import { restoreAccount, suspendAccount } from '../../lib/domain/accounts/suspensions.ts';
import { sha256 } from '../../lib/store/seal.ts';
import { Client } from '../gateway/client.ts';
import { makeApplication, makeBot, makePerson, makeServer, password, postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { beforeNextQuery } from '../harness/intercept.ts';
import { startParlance } from '../harness/parlance.ts';
import { type Caller, inParallel, refused, send, tally } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';
import { codeOf, unknownIds } from './refusals.ts';
import { runOn } from './run-here.ts';

const newPassword = 'another good password';

describe('operators’ commands for accounts', () => {
  const api = use(() => startParlance());
  const person = make(() => makePerson(api), { each: true });

  const run = (...args: string[]): Promise<Result> => runOn(api.platform, ...args);
  const json = async (...args: string[]): Promise<Record<string, unknown>> => (await run(...args)).json;
  const isAlive = async ({ as }: Caller): Promise<boolean> => (await api.call('GET', '/api/auth/me', { as })).status === 200;
  const connect = async ({ token }: Caller): Promise<Client> => {
    const socket = new Client(Number(new URL(api.gatewayUrl).port));
    await socket.identify(token);
    return socket;
  };
  const logIn = (given = password) =>
    api.call<Session>('POST', '/api/auth/login', { body: { username: person.username, password: given } });

  describe('suspend and unsuspend', () => {
    it('ends sessions, sockets and login codes at once, refuses logins, and keeps messages', async () => {
      const server = await makeServer(api, person);
      const { id } = await postMessage(api, person, server.general);
      const { code } = await send<LoginCode>(api, 201, person, 'POST', '/api/auth/codes');
      const socket = await connect(person);
      const { command, changed, name } = await json('suspend', person.id, '--reason', 'spam');
      expect([command, changed, name]).to.deep.equal(['suspend', true, person.username]);
      expect(await socket.closed).to.equal(4004);
      expect(await isAlive(person)).to.equal(false);
      await refused(api, [403, 'account_suspended'], null, 'POST', '/api/auth/login', { username: person.username, password });
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', { username: person.username, password: newPassword });
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/code', { code });
      expect(await api.platform.db.messages.countDocuments({ _id: id })).to.equal(1);
      expect((await json('account', person.id)).account).to.include({ suspendedReason: 'spam', sessions: 0 });
      expect(await json('suspend', person.id)).to.include({ changed: false });
      expect(await json('unsuspend', person.id)).to.include({ changed: true });
      expect(await json('unsuspend', person.id)).to.include({ changed: false });
      expect((await logIn()).status).to.equal(200);
      expect(await isAlive(person)).to.equal(false);
    });

    it('refuses the tokens of the person’s bots, also of one that is made later, and they work again after the suspension', async () => {
      const server = await makeServer(api, person);
      const bot = await makeBot(api, person, server.id);
      const other = await makePerson(api);
      const otherBot = await makeApplication(api, other);
      const socket = await connect(bot);
      expect(await isAlive(bot)).to.equal(true);
      await suspendAccount(api.platform, person.id, undefined);
      expect(await socket.closed).to.equal(4004);
      const late = await makeApplication(api, other);
      await api.platform.db.applications.updateOne(
        { _id: late.applicationId },
        { $set: { ownerId: person.id, slot: limits.applicationsPerPerson } },
      );
      expect(await Promise.all([bot, late, otherBot].map(isAlive))).to.deep.equal([false, false, true]);
      await restoreAccount(api.platform, person.id);
      expect(await Promise.all([bot, late].map(isAlive))).to.deep.equal([true, true]);
    });

    it('403 for a login that has not stored its session when the person is suspended', async () => {
      beforeNextQuery(api.platform.db.tokens, 'insertOne', () => suspendAccount(api.platform, person.id, undefined));
      await refused(api, [403, 'account_suspended'], null, 'POST', '/api/auth/login', { username: person.username, password });
      expect(await api.platform.db.tokens.countDocuments({ accountId: person.id })).to.equal(0);
    });
  });

  it('every command for people refuses unknown ids with not_found, and bots with invalid_request', async () => {
    const { id } = await makeApplication(api, person);
    const commands = [
      'suspend',
      'unsuspend',
      'reset-password',
      'reset-two-factor',
      'end-sessions',
      'unlink-sign-in',
      'delete-account',
      'keep-account',
    ];
    for (const command of commands) {
      expect(await codeOf(run(command, id)), command).to.equal('invalid_request');
      expect(await codeOf(run(command, '--', '1')), command).to.equal('not_found');
    }
    for (const unknown of unknownIds) expect(await codeOf(suspendAccount(api.platform, unknown, undefined)), unknown).to.equal('not_found');
  });

  it('end-sessions ends all sessions and sockets; the person can log in again', async () => {
    const socket = await connect(person);
    expect(await json('end-sessions', person.id)).to.include({ changed: true, id: person.id });
    expect(await socket.closed).to.equal(4004);
    expect(await isAlive(person)).to.equal(false);
    expect((await logIn()).status).to.equal(200);
  });

  it('account shows the linked account of the OpenID Connect provider', async () => {
    expect((await json('account', person.id)).account).to.include({ identity: null });
    const identity = { issuer: 'https://sso.example.org', subject: `subject ${person.id}`, linkedAt: new Date(0) };
    await api.platform.db.accounts.updateOne({ _id: person.id }, { $set: { identity } });
    const { json: shown, text } = await run('account', person.id);
    expect(shown.account).to.deep.include({ identity: { ...identity, linkedAt: '1970-01-01T00:00:00.000Z' } });
    expect(text).to.include(`identity: “${identity.subject}” of ${identity.issuer} since 1970-01-01T00:00:00.000Z`);
  });

  it('unlink-sign-in unlinks it; the account of the provider logs in no more, and sessions stay', async () => {
    const identity = { issuer: 'https://sso.example.org', subject: `subject ${person.id}`, linkedAt: new Date(0) };
    expect(await json('unlink-sign-in', person.id)).to.include({ ok: true, changed: false });
    await api.platform.db.accounts.updateOne({ _id: person.id }, { $set: { identity } });
    expect(await json('unlink-sign-in', person.id)).to.include({ command: 'unlink-sign-in', changed: true, id: person.id });
    expect((await json('account', person.id)).account).to.include({ identity: null });
    expect(await isAlive(person)).to.equal(true);
    expect(await json('unlink-sign-in', person.id)).to.include({ changed: false });
    await api.platform.db.accounts.updateOne({ _id: person.id }, { $set: { identity, passwordHash: null } });
    expect((await run('unlink-sign-in', person.id)).text).to.include('reset-password');
  });

  describe('delete-account and keep-account', () => {
    const scheduled = async (): Promise<unknown> => ((await json('account', person.id)).account as { deletion: unknown }).deletion;

    it('schedules after the grace period, keeps the choice and the date when repeated, and cancels; all in the audit log', async () => {
      expect(await scheduled()).to.equal(null);
      const { deletesAt, ...first } = await json('delete-account', person.id, '--messages', 'delete');
      expect(first).to.include({ ok: true, changed: true, id: person.id, name: person.username, messages: 'delete' });
      expect(Date.parse(String(deletesAt))).to.be.greaterThan(Date.now() + 13 * 86_400_000);
      expect(await isAlive(person)).to.equal(true);
      expect(await json('delete-account', person.id)).to.include({ changed: false, deletesAt, messages: 'delete' });
      expect(await json('delete-account', person.id, '--messages', 'keep')).to.include({ changed: true, deletesAt, messages: 'keep' });
      expect(await scheduled()).to.deep.equal({ deletesAt, messages: 'keep' });
      expect((await run('account', person.id)).text).to.contain(`deletion: ${String(deletesAt)}, messages: keep`);
      expect(await json('keep-account', person.id)).to.include({ changed: true });
      expect(await json('keep-account', person.id)).to.include({ changed: false });
      expect(await scheduled()).to.equal(null);
      const { items } = (await json('audit', '--limit', '5')) as { items: Record<string, unknown>[] };
      expect(items.map((one) => [one.command, one.outcome, one.targetId])).to.deep.equal(
        [
          ['keep-account', 'unchanged'],
          ['keep-account', 'done'],
          ['delete-account', 'done'],
          ['delete-account', 'unchanged'],
          ['delete-account', 'done'],
        ].map((one) => [...one, person.id]),
      );
    });

    it('--now deletes without a grace period, also a suspended account, and not one with servers', async () => {
      const server = await makeServer(api, person, 'Home');
      for (const args of [[], ['--now']]) expect(await codeOf(run('delete-account', person.id, ...args))).to.equal('owns_servers');
      await run('delete-server', server.id);
      await run('suspend', person.id);
      expect(await json('delete-account', person.id, '--now')).to.include({ changed: true, messages: 'keep' });
      await waitUntil(async () => !(await api.platform.db.accounts.findOne({ _id: person.id })), 'the deletion');
      expect(await codeOf(run('keep-account', person.id))).to.equal('not_found');
    });
  });

  describe('reset-password', () => {
    const makeCode = async (): Promise<string> => {
      const { link } = await json('reset-password', person.id);
      return /^http:\/\/[^#]+\/reset-password#code=([A-Za-z0-9_-]{43})$/.exec(String(link))?.[1] ?? '';
    };
    const reset = (code: string) => api.call('POST', '/api/auth/password-reset', { body: { code, newPassword } });

    it('the link shows whose password it changes, sets a new one, and ends all sessions', async () => {
      const code = await makeCode();
      const socket = await connect(person);
      const preview = await send<{ user: { id: string }; expiresAt: string }>(api, 200, null, 'POST', '/api/auth/password-reset/preview', {
        code,
      });
      expect(preview.user.id).to.equal(person.id);
      expect(Date.parse(preview.expiresAt) - Date.now()).to.be.within(59 * 60_000, 60 * 60_000);
      expect(await isAlive(person)).to.equal(true);
      await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/password-reset', { code, newPassword: 'short' });
      expect((await reset(code)).status).to.equal(204);
      expect(await socket.closed).to.equal(4004);
      expect(await isAlive(person)).to.equal(false);
      expect([(await logIn()).status, (await logIn(newPassword)).status]).to.deep.equal([401, 200]);
    });

    it('works once, also in 10 concurrent requests', async () => {
      const code = await makeCode();
      expect(tally(await inParallel(10, () => reset(code)))).to.deep.equal({ 204: 1, 401: 9 });
    });

    it('401 for a link that was replaced, has expired, or ended with a change of the password, and for text that is no code', async () => {
      const replaced = await makeCode();
      const old = await makeCode();
      await api.platform.db.passwordResets.updateOne({ _id: sha256(old) }, { $set: { expiresAt: new Date() } });
      for (const code of [replaced, old, sha256(old), '', '$ne']) {
        await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/password-reset', { code, newPassword });
        await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/password-reset/preview', { code });
      }
      const ended = await makeCode();
      await send(api, 204, person, 'PUT', '/api/users/@me/password', { currentPassword: password, newPassword: 'a third password' });
      expect((await reset(ended)).status).to.equal(401);
    });

    it('stores only the hash of the code, also in the audit log', async () => {
      const code = await makeCode();
      const stored = await Promise.all(
        [api.platform.db.passwordResets, api.platform.db.operatorAudit].map((one) => one.find({}).toArray() as Promise<unknown[]>),
      );
      expect(JSON.stringify(stored)).to.contain(sha256(code)).and.not.contain(code);
    });
  });

  it('accounts lists people by username in pages, as the page /people does', async () => {
    const prefix = `listed${person.id}`.slice(0, 26);
    const made = [await makePerson(api, `${prefix}_a`), await makePerson(api, `${prefix}_b`), await makePerson(api, `${prefix}_c`)];
    const ids = ({ items }: Record<string, unknown>) => (items as { id: string }[]).map(({ id }) => id);
    const first = await json('accounts', prefix.toUpperCase(), '--limit', '2');
    expect([ids(first), first.next]).to.deep.equal([made.slice(0, 2).map(({ id }) => id), `${prefix}_b`]);
    const second = await json('accounts', prefix, '--limit', '2', '--after', String(first.next));
    expect([ids(second), second.next]).to.deep.equal([[made[2]?.id], null]);
    expect(await json('accounts', '--limit', '101')).to.include({ ok: false });
    expect((await run('accounts', prefix)).text.split('\n')).to.have.length(3);
  });
});
