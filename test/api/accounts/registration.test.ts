import { expect } from 'chai';
import type { Session } from '../../../lib/contract/auth.ts';
import { startSecondApi } from '../../harness/api.ts';
import { expireInvite, makeInvite, password, word } from '../../harness/factories.ts';
import { refused, send } from '../../harness/requests.ts';
import { use, useServer } from '../../harness/use.ts';

describe('settings of registration and of the creation of servers', () => {
  const { api, owner, server } = useServer();
  const closed = use(() => startSecondApi(api, { REGISTRATION: 'closed' }));
  const byInvite = use(() => startSecondApi(api, { REGISTRATION: 'invite', SERVER_CREATION: 'operators' }));

  it('by default everybody can create an account and a server', async () => {
    expect(await send(api, 200, null, 'GET', '/api/instance')).to.deep.equal({
      registration: 'open',
      serverCreation: 'everyone',
      signIn: null,
    });
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
