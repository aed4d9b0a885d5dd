import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import type { Member, Role, Server } from '../../lib/contract/server.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import {
  authorize,
  type Bot,
  type Caller,
  giveRole,
  join,
  makeApplication,
  makeBot,
  makeMember,
  makePeople,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  send,
} from '../harness/factories.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

const names = [
  'MEMBER_ADD',
  'MEMBER_UPDATE',
  'MEMBER_REMOVE',
  'ROLE_CREATE',
  'ROLE_UPDATE',
  'ROLE_DELETE',
  'SERVER_CREATE',
  'SERVER_UPDATE',
  'SERVER_DELETE',
];

describe('the events of servers, members and roles', () => {
  let whole: Whole;
  let owner: Caller;
  let server: Place;
  /** An opted-in bot and a person that are in the server, a bot that did not ask, and a person and a bot that are elsewhere. */
  let bot: Ear;
  let person: Ear;
  let plain: Ear;
  let stranger: Caller;
  let strangerEar: Ear;
  let comer: Bot;
  let comerEar: Ear;
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    const [asking, other] = [await makeBot(whole, owner, server.id), await makeBot(whole, owner, server.id)];
    const member = await makeMember(whole, owner, server.id);
    stranger = await makePerson(whole);
    comer = await makeApplication(whole, owner);
    [bot, person, plain, strangerEar, comerEar] = [
      await listenAs(whole, asking.token, names),
      await listenAs(whole, member.token),
      await listenAs(whole, other.token),
      await listenAs(whole, stranger.token),
      await listenAs(whole, comer.token, names),
    ];
  });
  after(async () => {
    await Promise.all([bot, person, plain, strangerEar, comerEar].map((ear) => ear.client.close()));
    await whole.close();
  });

  const all = (): Ear[] => [bot, person, plain, strangerEar, comerEar];
  let marks = 0;
  /** Waits until all that was owed has been heard: two changes of the name, as a batch tells of the server before its members, then a word to each outsider. */
  const settle = async (): Promise<void> => {
    for (let n = 0; n < 2; n++) {
      const name = `mark ${++marks}`;
      await send(whole, 200, owner, 'PATCH', at(), { name });
      await Promise.all([bot, person].map((ear) => ear.hears(({ d }) => d.name === name)));
    }
    const id = `mark ${++marks}`;
    for (const account of [stranger, comer])
      await whole.worker.append(accountPlace(account.id), [{ id, name: 'SERVER_DELETE', payload: JSON.stringify({ id }) }]);
    await Promise.all([strangerEar, comerEar].map((ear) => ear.hears(({ d }) => d.id === id)));
  };
  const isMark = ({ t, d }: Dispatch): boolean => t !== 'SERVER_CREATE' && String(d.name ?? d.id).startsWith('mark');
  const rolesNow = (): Promise<Role[]> => send(whole, 200, owner, 'GET', at('/roles'));
  /**
   * Runs `act`, and answers what was heard of it: by the members, the bot and the person alike, by the bot that did not ask, and by those who are elsewhere.
   * Roles that others shifted are left out: `role-positions.test.ts` looks at those.
   */
  const heardOf = async (act: () => Promise<unknown>): Promise<Record<'members' | 'plain' | 'stranger' | 'comer', unknown[]>> => {
    await settle();
    const stood = new Set((await rolesNow()).map(({ id }) => id));
    const isShift = ({ t, d }: Dispatch): boolean => t === 'ROLE_UPDATE' && stood.has((d.role as Role).id);
    const from = all().map((ear) => ear.heard.length);
    await act();
    await settle();
    const [bots = [], people, others = [], strangers = [], comers = []] = all().map((ear, n) =>
      ear.heard
        .slice(from[n])
        .flatMap((event) => (names.includes(event.t) && !isMark(event) && !isShift(event) ? [[event.t, event.d]] : [])),
    );
    expect(people).to.deep.equal(bots);
    return { members: bots, plain: others, stranger: strangers, comer: comers };
  };
  const at = (path = ''): string => `/api/servers/${server.id}${path}`;
  const memberNow = (userId: string): Promise<Member> => send(whole, 200, owner, 'GET', at(`/members/${userId}`));
  const serverId = (): string => server.id;
  const nothing = { plain: [], stranger: [], comer: [] };

  it('a role that is made, changed and deleted; a change of nothing tells nothing', async () => {
    let made: Role | undefined;
    let changed: Role | undefined;
    const heard = await heardOf(async () => {
      made = await makeRole(whole, owner, server.id, { name: 'first', permissions: 3 });
      await bot.hears(({ t, d }) => t === 'ROLE_CREATE' && (d.role as Role).id === made?.id);
      changed = await send<Role>(whole, 200, owner, 'PATCH', at(`/roles/${made.id}`), { name: 'second', color: '#ABCDEF' });
      await send(whole, 200, owner, 'PATCH', at(`/roles/${made.id}`), { name: 'second' });
      await bot.hears(({ t, d }) => t === 'ROLE_UPDATE' && (d.role as Role).id === made?.id);
      await send(whole, 204, owner, 'DELETE', at(`/roles/${made.id}`));
    });
    expect(heard).to.deep.equal({
      ...nothing,
      members: [
        ['ROLE_CREATE', { serverId: serverId(), role: made }],
        ['ROLE_UPDATE', { serverId: serverId(), role: changed }],
        ['ROLE_DELETE', { serverId: serverId(), roleId: made?.id }],
      ],
    });
  });

  it('a change of the server: the summary, to its members; several that wait are one', async () => {
    const before = await whole.platform.db.servers.findOne({ _id: server.id }).lean();
    const heard = await heardOf(async () => {
      await send(whole, 200, owner, 'PATCH', at(), { name: 'x' });
      await bot.hears(({ d }) => d.name === 'x');
    });
    const { _id: id, iconUrl, types, community, listed } = before ?? expect.fail();
    expect(heard).to.deep.equal({ ...nothing, members: [['SERVER_UPDATE', { id, name: 'x', iconUrl, types, community, listed }]] });
  });

  it('a person joins, gets and loses a role, and leaves', async () => {
    const role = await makeRole(whole, owner, server.id);
    let joined: Server | undefined;
    let shown: Member | undefined;
    let member: Member | undefined;
    const heard = await heardOf(async () => {
      joined = await join(whole, owner, server.id, stranger);
      member = await memberNow(stranger.id);
      await strangerEar.hears(({ t, d }) => t === 'SERVER_CREATE' && d.id === server.id);
      await giveRole(whole, owner, server.id, stranger.id, role.id);
      await giveRole(whole, owner, server.id, stranger.id, role.id);
      shown = await memberNow(stranger.id);
      await strangerEar.hears(({ t, d }) => t === 'MEMBER_UPDATE' && (d.member as Member).roles.length === 1);
      await send(whole, 204, owner, 'DELETE', at(`/members/${stranger.id}/roles/${role.id}`));
      await strangerEar.hears(({ t, d }) => t === 'MEMBER_UPDATE' && (d.member as Member).roles.length === 0);
      await send(whole, 204, stranger, 'DELETE', `/api/users/@me/servers/${server.id}`);
      await strangerEar.hears(({ t, d }) => t === 'SERVER_DELETE' && d.id === server.id);
    });
    const updates = [shown, member].map((one) => ['MEMBER_UPDATE', { serverId: serverId(), member: one }]);
    expect(heard).to.deep.equal({
      ...nothing,
      members: [
        ['MEMBER_ADD', { serverId: serverId(), member }],
        ...updates,
        ['MEMBER_REMOVE', { serverId: serverId(), userId: stranger.id }],
      ],
      stranger: [['SERVER_CREATE', joined], ...updates, ['SERVER_DELETE', { id: serverId() }]],
    });
  });

  it('a bot is added with its own role, kicked and banned: it hears of itself what is its own, and then nothing more', async () => {
    const heard = await heardOf(async () => {
      const { roleId } = await authorize(whole, owner, comer, server.id);
      const added = await comerEar.hears(({ t }) => t === 'SERVER_CREATE');
      expect(added.d).to.include({ id: server.id }).and.to.have.property('myRoles').that.deep.equals([roleId]);
      await bot.hears(({ t, d }) => t === 'MEMBER_ADD' && (d.member as Member).user.id === comer.id);
      await send(whole, 204, owner, 'DELETE', at(`/members/${comer.id}`));
      await makeRole(whole, owner, server.id);
    });
    const [created, added, removed, dropped, later] = heard.members as [string, Record<string, unknown>][];
    expect(heard.members).to.have.length(5);
    const roleId = (created?.[1].role as Role | undefined)?.id;
    expect([created?.[0], later?.[0]]).to.deep.equal(['ROLE_CREATE', 'ROLE_CREATE']);
    expect([added?.[0], (added?.[1].member as Member | undefined)?.roles]).to.deep.equal(['MEMBER_ADD', [roleId]]);
    expect(removed).to.deep.equal(['MEMBER_REMOVE', { serverId: serverId(), userId: comer.id }]);
    expect(dropped).to.deep.equal(['ROLE_DELETE', { serverId: serverId(), roleId }]);
    expect(heard.plain).to.deep.equal([]);
    expect(heard.comer.map((one) => (one as [string])[0])).to.deep.equal(['SERVER_CREATE', 'SERVER_DELETE']);
  });

  it('a server is made and deleted: who makes it hears that, and everybody who was in it that it is gone', async () => {
    const place = await makeServer(whole, stranger);
    const made = await strangerEar.hears(({ t, d }) => t === 'SERVER_CREATE' && d.id === place.id);
    expect(made.d).to.deep.equal(Object.fromEntries(Object.entries(place).filter(([key]) => key !== 'general')));
    await send(whole, 200, owner, 'PATCH', `/api/applications/${comer.applicationId}`, { public: true });
    await authorize(whole, stranger, comer, place.id);
    await comerEar.hears(({ t, d }) => t === 'SERVER_CREATE' && d.id === place.id);
    const heard = await heardOf(async () => {
      await send(whole, 204, stranger, 'DELETE', `/api/servers/${place.id}`);
      for (const ear of [strangerEar, comerEar]) await ear.hears(({ t, d }) => t === 'SERVER_DELETE' && d.id === place.id);
    });
    const gone = [['SERVER_DELETE', { id: place.id }]];
    expect(heard).to.deep.equal({ ...nothing, members: [], stranger: gone, comer: gone });
  });

  it('20 join, get a role and leave at once while many drain: each event comes once, and joining before leaving', async () => {
    const role = await makeRole(whole, owner, server.id);
    const people = await makePeople(whole, 20);
    const heard = await heardOf(async () => {
      await Promise.all([
        ...people.map(async (one) => {
          await join(whole, owner, server.id, one);
          await giveRole(whole, owner, server.id, one.id, role.id);
          await send(whole, 204, one, 'DELETE', `/api/users/@me/servers/${server.id}`);
        }),
        ...Array.from({ length: 10 }, () => relay(whole.worker, 'server', server.id).catch(() => undefined)),
      ]);
    });
    for (const { id } of people) {
      const about = (heard.members as [string, { userId?: string; member?: Member }][]).filter(
        ([, d]) => (d.userId ?? d.member?.user.id) === id,
      );
      expect(about.map(([name]) => name).join(' ')).to.match(/^(MEMBER_ADD )?(MEMBER_UPDATE )?MEMBER_REMOVE$/);
    }
    const { servers } = whole.platform.db;
    await until(async () => !(await servers.findOne({ _id: server.id }).lean())?.obAt, 'nothing is pending');
  });

  it('a bot that was cut off hears at its resume what it missed, and of a server that it left only that', async () => {
    const late = await makeBot(whole, owner, server.id);
    const way = { gatewayUrl: whole.gatewayUrl };
    const ear = await listenAs(way, late.token, names, true);
    await settle();
    ear.client.cut();
    const role = await makeRole(whole, owner, server.id);
    const isOf = ({ t, d }: Dispatch, id: string): boolean => t === 'ROLE_CREATE' && (d.role as Role).id === id;
    await ear.hears((event) => isOf(event, role.id));
    way.gatewayUrl = `ws://127.0.0.1:${await freePort()}`;
    ear.client.cut();
    const unseen = await makeRole(whole, owner, server.id);
    await settle();
    await send(whole, 204, owner, 'DELETE', at(`/members/${late.id}`));
    await settle();
    way.gatewayUrl = whole.gatewayUrl;
    await ear.hears(({ t, d }) => t === 'SERVER_DELETE' && d.id === server.id);
    expect([role, unseen].map(({ id }) => ear.heard.filter((event) => isOf(event, id)).length)).to.deep.equal([1, 0]);
    await ear.client.close();
  });
});
