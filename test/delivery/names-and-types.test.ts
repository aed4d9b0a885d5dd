import { expect } from 'chai';
import type { Member } from '../../lib/contract/member.ts';
import type { Role } from '../../lib/contract/server.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { grantServerTypes } from '../../lib/domain/servers/grants.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { authorize, makeMember, makeServer } from '../harness/factories.ts';
import { startParlance, useRecorder, waitForAll } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { make, newBot, useServer } from '../harness/use.ts';

const names = ['ROLE_UPDATE', 'SERVER_UPDATE', 'MEMBER_UPDATE'];

describe('Events: a renamed application, a new owner and granted server types', () => {
  const { api: parlance, owner, server, bot, other } = useServer({ bot: newBot(), other: newBot() }, { start: startParlance });
  const second = make(() => makeServer(parlance, owner));
  /** The servers of the bot. */
  const servers = [server, second] as const;
  before(() => authorize(parlance, owner, bot, second.id));
  /** Another bot, in the first server only, the owner, and the bot itself. */
  const listener = useRecorder(parlance, other, names);
  const person = useRecorder(parlance, owner);
  const own = useRecorder(parlance, bot, names);
  const recorders = [listener, person, own];

  const rename = (name: string) => send(parlance, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name });
  const ownRole = async (serverId: string, name: string): Promise<Role> => {
    const roles = await send<Role[]>(parlance, 200, owner, 'GET', `/api/servers/${serverId}/roles`);
    return roles.find((role) => role.name === name) ?? expect.fail('no role has the new name');
  };

  it('renaming an application sends a ROLE_UPDATE of its bot’s role in each server; the same name again sends none', async () => {
    const isAbout = (name: string, serverId?: string) => (event: Dispatch) =>
      event.t === 'ROLE_UPDATE' && (event.d.role as Role).name === name && (serverId === undefined || event.d.serverId === serverId);
    const waitForName = (name: string): Promise<unknown> =>
      Promise.all([
        listener.waitFor(isAbout(name, server.id)),
        ...[person, own].flatMap((recorder) => servers.map(({ id }) => recorder.waitFor(isAbout(name, id)))),
      ]);
    await rename('renamed');
    await waitForName('renamed');
    const expected = await Promise.all(servers.map(async ({ id: serverId }) => ({ serverId, role: await ownRole(serverId, 'renamed') })));
    await rename('renamed');
    await rename('again');
    await waitForName('again');
    const received = recorders.map((recorder) => recorder.received.flatMap((event) => (isAbout('renamed')(event) ? [event.d] : [])));
    expect(received[0]).to.deep.equal(expected.slice(0, 1));
    for (const one of received.slice(1)) expect(one).to.have.deep.members(expected);
    const again = recorders.map((recorder) => recorder.received.filter(isAbout('again')).length);
    expect(again).to.deep.equal([1, 2, 2]);
  });

  it('a new owner sends a MEMBER_UPDATE of the old and the new owner', async () => {
    const serverId = second.id;
    const listening = recorders.slice(1);
    const heir = await makeMember(parlance, owner, serverId);
    const isOwner = ({ t, d }: Dispatch, { id }: Caller, owns: boolean): boolean =>
      t === 'MEMBER_UPDATE' && (d.member as Member).user.id === id && (d.member as Member).isOwner === owns;
    const handOver = async (from: Caller, to: Caller): Promise<void> => {
      await send(parlance, 200, from, 'PATCH', `/api/servers/${serverId}`, { ownerId: to.id });
      for (const recorder of listening)
        for (const [one, owns] of [[from, false] as const, [to, true] as const]) {
          const { d } = await recorder.waitFor((event) => isOwner(event, one, owns));
          const now = await send<Member>(parlance, 200, owner, 'GET', `/api/servers/${serverId}/members/${one.id}`);
          expect(d).to.deep.equal({ serverId, member: now });
        }
    };
    await handOver(owner, heir);
    await handOver(heir, owner);
    for (const recorder of listening) expect(recorder.received.filter(({ t }) => t === 'MEMBER_UPDATE')).to.have.length(4);
  });

  it('granting server types sends one SERVER_UPDATE; the same types again send none', async () => {
    const serverId = server.id;
    const summary = (await send<{ id: string }[]>(parlance, 200, owner, 'GET', '/api/servers')).find(({ id }) => id === serverId);
    const grant = async (types: ('verified' | 'staff')[]): Promise<void> => {
      await grantServerTypes(parlance.platform, serverId, types);
      await relayEvents(parlance.worker, 'server', serverId);
    };
    await grant(['verified']);
    await grant(['verified']);
    await grant([]);
    const isUpdate = ({ t, d }: Dispatch): boolean => t === 'SERVER_UPDATE' && d.id === serverId;
    await waitForAll(recorders, (event) => isUpdate(event) && (event.d.types as []).length === 0);
    for (const recorder of recorders)
      expect(recorder.received.filter(isUpdate).map(({ d }) => d)).to.deep.equal([
        { ...summary, types: ['verified'] },
        { ...summary, types: [] },
      ]);
  });
});
