import { expect } from 'chai';
import type { Member } from '../../lib/contract/member.ts';
import type { Role, Server } from '../../lib/contract/server.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { grantServerTypes } from '../../lib/domain/servers/grants.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { authorize, giveRole, join, leave, makeMember, makePeople, makeRole, makeServer } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startParlance, useRecorder, waitForAll } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { make, newApplication, newBot, newMember, newPerson, useServer } from '../harness/use.ts';

const names = 'MEMBER_ADD MEMBER_UPDATE MEMBER_REMOVE ROLE_CREATE ROLE_UPDATE ROLE_DELETE SERVER_CREATE SERVER_UPDATE SERVER_DELETE'.split(
  ' ',
);

describe('Events: servers, members and roles', () => {
  const accounts = { listeningBot: newBot(), otherBot: newBot(), member: newMember(), stranger: newPerson(), outsideBot: newApplication() };
  const fixture = useServer(accounts, { start: startParlance });
  const { api: parlance, owner, server, stranger, outsideBot, ...members } = fixture;
  /** An opted-in bot and a person in the server, a bot that did not opt in, and a person and a bot that are not in the server. */
  const bot = useRecorder(parlance, members.listeningBot, names);
  const person = useRecorder(parlance, members.member);
  const optedOut = useRecorder(parlance, members.otherBot);
  const strangerRecorder = useRecorder(parlance, stranger);
  const outsideBotRecorder = useRecorder(parlance, outsideBot, names);
  const all = [bot, person, optedOut, strangerRecorder, outsideBotRecorder];
  let lastMark = 0;
  const markIds = new Set<unknown>();
  /** Waits for pending events: changes the name twice, because a batch sends the server before its members, then sends a mark to each outsider. */
  const waitForPending = async (): Promise<void> => {
    for (let n = 0; n < 2; n++) {
      const name = `mark ${++lastMark}`;
      await send(parlance, 200, owner, 'PATCH', at(), { name });
      await waitForAll([bot, person], ({ d }) => d.name === name);
    }
    const id = parlance.worker.ids.next();
    markIds.add(id);
    for (const account of [stranger, outsideBot])
      await parlance.worker.eventLog.append(accountPlace(account.id), [{ id, name: 'SERVER_DELETE', payload: JSON.stringify({ id }) }]);
    await waitForAll([strangerRecorder, outsideBotRecorder], ({ d }) => d.id === id);
  };
  const isMark = ({ t, d }: Dispatch): boolean => t !== 'SERVER_CREATE' && (markIds.has(d.id) || String(d.name).startsWith('mark'));
  const rolesNow = (): Promise<Role[]> => send(parlance, 200, owner, 'GET', at('/roles'));
  /**
   * Runs `act` and returns the events that were received: by the members (the bot and the person alike), by the bot that did not opt in, and by the
   * outsiders. Leaves out roles that others shifted, which `role-positions.test.ts` covers.
   */
  const eventsDuring = async (act: () => Promise<unknown>): Promise<Record<'members' | keyof typeof nothing, unknown[]>> => {
    await waitForPending();
    const knownRoles = new Set((await rolesNow()).map(({ id }) => id));
    const isShift = ({ t, d }: Dispatch): boolean => t === 'ROLE_UPDATE' && knownRoles.has((d.role as Role).id);
    const from = all.map((recorder) => recorder.received.length);
    await act();
    await waitForPending();
    const [bots = [], people, others = [], strangers = [], outsideBots = []] = all.map((recorder, n) =>
      recorder.received
        .slice(from[n])
        .flatMap((event) => (names.includes(event.t) && !isMark(event) && !isShift(event) ? [[event.t, event.d]] : [])),
    );
    expect(people).to.deep.equal(bots);
    return { members: bots, optedOut: others, stranger: strangers, outsideBot: outsideBots };
  };
  const at = (path = ''): string => `/api/servers/${server.id}${path}`;
  const memberNow = (userId: string): Promise<Member> => send(parlance, 200, owner, 'GET', at(`/members/${userId}`));
  const serverId = (): string => server.id;
  const nothing = { optedOut: [], stranger: [], outsideBot: [] };

  it('a role that is created, changed and deleted; a change without effect sends nothing', async () => {
    let made: Role | undefined;
    let changed: Role | undefined;
    const received = await eventsDuring(async () => {
      made = await makeRole(parlance, owner, server.id, { name: 'first', permissions: 3 });
      await bot.waitFor(({ t, d }) => t === 'ROLE_CREATE' && (d.role as Role).id === made?.id);
      changed = await send<Role>(parlance, 200, owner, 'PATCH', at(`/roles/${made.id}`), { name: 'second', color: '#ABCDEF' });
      await send(parlance, 200, owner, 'PATCH', at(`/roles/${made.id}`), { name: 'second' });
      await bot.waitFor(({ t, d }) => t === 'ROLE_UPDATE' && (d.role as Role).id === made?.id);
      await send(parlance, 204, owner, 'DELETE', at(`/roles/${made.id}`));
    });
    expect(received).to.deep.equal({
      ...nothing,
      members: [
        ['ROLE_CREATE', { serverId: serverId(), role: made }],
        ['ROLE_UPDATE', { serverId: serverId(), role: changed }],
        ['ROLE_DELETE', { serverId: serverId(), roleId: made?.id }],
      ],
    });
  });

  it('a person who joins, gets and loses a role, and leaves', async () => {
    const role = await makeRole(parlance, owner, server.id);
    let joined: Server | undefined;
    let shown: Member | undefined;
    let member: Member | undefined;
    const received = await eventsDuring(async () => {
      joined = await join(parlance, owner, server.id, stranger);
      member = await memberNow(stranger.id);
      await strangerRecorder.waitFor(({ t, d }) => t === 'SERVER_CREATE' && d.id === server.id);
      await giveRole(parlance, owner, server.id, stranger.id, role.id);
      await giveRole(parlance, owner, server.id, stranger.id, role.id);
      shown = await memberNow(stranger.id);
      await strangerRecorder.waitFor(({ t, d }) => t === 'MEMBER_UPDATE' && (d.member as Member).roles.length === 1);
      await send(parlance, 204, owner, 'DELETE', at(`/members/${stranger.id}/roles/${role.id}`));
      await strangerRecorder.waitFor(({ t, d }) => t === 'MEMBER_UPDATE' && (d.member as Member).roles.length === 0);
      await leave(parlance, stranger, server.id);
      await strangerRecorder.waitFor(({ t, d }) => t === 'SERVER_DELETE' && d.id === server.id);
    });
    const updates = [shown, member].map((one) => ['MEMBER_UPDATE', { serverId: serverId(), member: one }]);
    expect(received).to.deep.equal({
      ...nothing,
      members: [
        ['MEMBER_ADD', { serverId: serverId(), member }],
        ...updates,
        ['MEMBER_REMOVE', { serverId: serverId(), userId: stranger.id }],
      ],
      stranger: [['SERVER_CREATE', joined], ...updates, ['SERVER_DELETE', { id: serverId() }]],
    });
  });

  it('a bot that is added with its role and kicked receives SERVER_CREATE, SERVER_DELETE and nothing more', async () => {
    const received = await eventsDuring(async () => {
      const { roleId } = await authorize(parlance, owner, outsideBot, server.id);
      const added = await outsideBotRecorder.waitFor(({ t }) => t === 'SERVER_CREATE');
      expect(added.d).to.include({ id: server.id }).and.to.have.property('myRoles').that.deep.equals([roleId]);
      await bot.waitFor(({ t, d }) => t === 'MEMBER_ADD' && (d.member as Member).user.id === outsideBot.id);
      await send(parlance, 204, owner, 'DELETE', at(`/members/${outsideBot.id}`));
      await makeRole(parlance, owner, server.id);
    });
    const [created, added, removed, dropped, later] = received.members as [string, Record<string, unknown>][];
    expect(received.members).to.have.length(5);
    const roleId = (created?.[1].role as Role | undefined)?.id;
    expect([created?.[0], later?.[0]]).to.deep.equal(['ROLE_CREATE', 'ROLE_CREATE']);
    expect([added?.[0], (added?.[1].member as Member | undefined)?.roles]).to.deep.equal(['MEMBER_ADD', [roleId]]);
    expect(removed).to.deep.equal(['MEMBER_REMOVE', { serverId: serverId(), userId: outsideBot.id }]);
    expect(dropped).to.deep.equal(['ROLE_DELETE', { serverId: serverId(), roleId }]);
    expect(received.optedOut).to.deep.equal([]);
    expect(received.outsideBot.map((one) => (one as [string])[0])).to.deep.equal(['SERVER_CREATE', 'SERVER_DELETE']);
  });

  it('a server that is created and deleted: its creator and all members receive it', async () => {
    const other = await makeServer(parlance, stranger);
    const made = await strangerRecorder.waitFor(({ t, d }) => t === 'SERVER_CREATE' && d.id === other.id);
    expect(made.d).to.deep.equal(Object.fromEntries(Object.entries(other).filter(([key]) => key !== 'general')));
    await send(parlance, 200, owner, 'PATCH', `/api/applications/${outsideBot.applicationId}`, { public: true });
    await authorize(parlance, stranger, outsideBot, other.id);
    await outsideBotRecorder.waitFor(({ t, d }) => t === 'SERVER_CREATE' && d.id === other.id);
    const received = await eventsDuring(async () => {
      await send(parlance, 204, stranger, 'DELETE', `/api/servers/${other.id}`);
      await waitForAll([strangerRecorder, outsideBotRecorder], ({ t, d }) => t === 'SERVER_DELETE' && d.id === other.id);
    });
    const gone = [['SERVER_DELETE', { id: other.id }]];
    expect(received).to.deep.equal({ ...nothing, members: [], stranger: gone, outsideBot: gone });
  });

  it('20 people join, get a role and leave in parallel with several relays: each event once, join before leave', async () => {
    const role = await makeRole(parlance, owner, server.id);
    const people = await makePeople(parlance, 20);
    const received = await eventsDuring(async () => {
      await Promise.all([
        ...people.map(async (one) => {
          await join(parlance, owner, server.id, one);
          await giveRole(parlance, owner, server.id, one.id, role.id);
          await leave(parlance, one, server.id);
        }),
        ...Array.from({ length: 10 }, () => relayEvents(parlance.worker, 'server', server.id).catch(() => undefined)),
      ]);
    });
    for (const { id } of people) {
      const about = (received.members as [string, { userId?: string; member?: Member }][]).filter(
        ([, d]) => (d.userId ?? d.member?.user.id) === id,
      );
      expect(about.map(([name]) => name).join(' ')).to.match(/^(MEMBER_ADD )?(MEMBER_UPDATE )?MEMBER_REMOVE$/);
    }
    await waitUntil(async () => !(await parlance.platform.db.servers.findOne({ _id: server.id }))?.outboxAt, 'nothing is pending');
  });
});

describe('Events: a renamed application, a new owner and granted server types', () => {
  const { api: parlance, owner, server, bot, other } = useServer({ bot: newBot(), other: newBot() }, { start: startParlance });
  const second = make(() => makeServer(parlance, owner));
  /** The servers of the bot. */
  const servers = [server, second] as const;
  before(() => authorize(parlance, owner, bot, second.id));
  const events = ['ROLE_UPDATE', 'SERVER_UPDATE', 'MEMBER_UPDATE'];
  /** Another bot, in the first server only, the owner, and the bot itself. */
  const listener = useRecorder(parlance, other, events);
  const person = useRecorder(parlance, owner);
  const own = useRecorder(parlance, bot, events);
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
