import { expect } from 'chai';
import type { Member, Role } from '../../lib/contract/server.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import { grantServerTypes } from '../../lib/domain/servers/grants.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { type Bot, type Caller, makeBot, makeMember, makePerson, makeServer, send } from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

const names = ['ROLE_UPDATE', 'SERVER_UPDATE', 'MEMBER_UPDATE'];

describe('what a new name of an application, a new owner and a grant of the platform team tell', () => {
  let whole: Whole;
  let owner: Caller;
  /** A bot that is in two servers, and who listens in each of them: another bot, and the owner. */
  let bot: Bot;
  let places: string[];
  let ears: Ear[];
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    const [first, second] = [await makeServer(whole, owner), await makeServer(whole, owner)];
    places = [first.id, second.id];
    bot = await makeBot(whole, owner, first.id);
    await send(whole, 201, owner, 'POST', `/api/applications/${bot.applicationId}/authorize`, { serverId: second.id, permissions: 0 });
    const other = await makeBot(whole, owner, first.id);
    ears = [await listenAs(whole, other.token, names), await listenAs(whole, owner.token), await listenAs(whole, bot.token, names)];
  });
  after(async () => {
    await Promise.all(ears.map((ear) => ear.client.close()));
    await whole.close();
  });

  const rename = (name: string) => send(whole, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name });
  const ownRole = async (serverId: string, name: string): Promise<Role> => {
    const roles = await send<Role[]>(whole, 200, owner, 'GET', `/api/servers/${serverId}/roles`);
    return roles.find((role) => role.name === name) ?? expect.fail('no role has the new name');
  };

  it('a renamed application is a ROLE_UPDATE of its bot’s own role in each of its servers; the same name again is none', async () => {
    const isAbout = (name: string, serverId?: string) => (event: Dispatch) =>
      event.t === 'ROLE_UPDATE' && (event.d.role as Role).name === name && (serverId === undefined || event.d.serverId === serverId);
    const [listener, person, itself] = ears as [Ear, Ear, Ear];
    const hearsOf = (name: string): Promise<unknown> =>
      Promise.all([
        listener.hears(isAbout(name, places[0])),
        ...[person, itself].flatMap((ear) => places.map((serverId) => ear.hears(isAbout(name, serverId)))),
      ]);
    await rename('renamed');
    await hearsOf('renamed');
    const expected = await Promise.all(places.map(async (serverId) => ({ serverId, role: await ownRole(serverId, 'renamed') })));
    await rename('renamed');
    await rename('again');
    await hearsOf('again');
    const told = ears.map((ear) => ear.heard.flatMap((event) => (isAbout('renamed')(event) ? [event.d] : [])));
    expect(told[0]).to.deep.equal(expected.slice(0, 1));
    for (const one of told.slice(1)) expect(one).to.have.deep.members(expected);
    const again = ears.map((ear) => ear.heard.filter(isAbout('again')).length);
    expect(again).to.deep.equal([1, 2, 2]);
  });

  it('a server handed over is a MEMBER_UPDATE of who had it and of who has it', async () => {
    const [, serverId] = places as [string, string];
    const listening = ears.slice(1);
    const heir = await makeMember(whole, owner, serverId);
    const isOwner = ({ t, d }: Dispatch, { id }: Caller, owns: boolean): boolean =>
      t === 'MEMBER_UPDATE' && (d.member as Member).user.id === id && (d.member as Member).isOwner === owns;
    const handOver = async (from: Caller, to: Caller): Promise<void> => {
      await send(whole, 200, from, 'PATCH', `/api/servers/${serverId}`, { ownerId: to.id });
      for (const ear of listening)
        for (const [one, owns] of [[from, false] as const, [to, true] as const]) {
          const { d } = await ear.hears((event) => isOwner(event, one, owns));
          const now = await send<Member>(whole, 200, owner, 'GET', `/api/servers/${serverId}/members/${one.id}`);
          expect(d).to.deep.equal({ serverId, member: now });
        }
    };
    await handOver(owner, heir);
    await handOver(heir, owner);
    for (const ear of listening) expect(ear.heard.filter(({ t }) => t === 'MEMBER_UPDATE')).to.have.length(4);
  });

  it('types that are granted are one SERVER_UPDATE with the summary; the same ones again are none', async () => {
    const [serverId] = places as [string];
    const summary = (await send<{ id: string }[]>(whole, 200, owner, 'GET', '/api/servers')).find(({ id }) => id === serverId);
    const grant = async (types: ('verified' | 'staff')[]): Promise<void> => {
      await grantServerTypes(whole.platform, serverId, types);
      await relay(whole.worker, 'server', serverId);
    };
    await grant(['verified']);
    await grant(['verified']);
    await grant([]);
    const isTold = ({ t, d }: Dispatch): boolean => t === 'SERVER_UPDATE' && d.id === serverId;
    await Promise.all(ears.map((ear) => ear.hears((event) => isTold(event) && (event.d.types as []).length === 0)));
    for (const ear of ears)
      expect(ear.heard.filter(isTold).map(({ d }) => d)).to.deep.equal([
        { ...summary, types: ['verified'] },
        { ...summary, types: [] },
      ]);
  });
});
