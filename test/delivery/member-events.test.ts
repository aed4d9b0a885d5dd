import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import type { Member } from '../../lib/contract/server.ts';
import { type Caller, join, makeBot, makeMember, makePerson, makeRole, makeServer, type Place, send } from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { fillServer } from '../harness/world.ts';

const names = ['MEMBER_ADD', 'MEMBER_UPDATE', 'MEMBER_REMOVE'];

describe('member events, by the size of the server', function () {
  this.timeout(120_000);
  let whole: Whole;
  let owner: Caller;
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
  });
  after(() => whole.close());

  /** Which of the member events of `subject` each session received: its join, a role, and its removal. */
  const eventsIn = async (members: number): Promise<Record<string, string[]>> => {
    const server: Place = await makeServer(whole, owner);
    const role = await makeRole(whole, owner, server.id);
    const subject = await makePerson(whole);
    const callers: Record<string, Caller> = {
      owner,
      kicker: await makeMember(whole, owner, server.id, 1 << 10),
      member: await makeMember(whole, owner, server.id),
      watcher: await makeMember(whole, owner, server.id),
      bot: await makeBot(whole, owner, server.id),
    };
    const { memberCount } = (await whole.platform.db.servers.findOne({ _id: server.id }).lean()) ?? expect.fail();
    await fillServer(whole.platform, server.id, members - memberCount, `filler${server.id}`);
    const ears = new Map<string, Ear>();
    for (const [name, { token }] of Object.entries({ ...callers, subject })) ears.set(name, await listenAs(whole, token, names));
    const at = `/api/servers/${server.id}/members`;
    const ended = (ear: Ear, event: string, userId: string): Promise<unknown> =>
      ear.hears(({ t, d }) => t === event && d.serverId === server.id && (d.userId ?? (d.member as { user: Caller }).user.id) === userId);
    const ownerEar = ears.get('owner') ?? expect.fail();
    await join(whole, owner, server.id, subject);
    await ended(ownerEar, 'MEMBER_ADD', subject.id);
    // It cannot be watched before it is a member.
    await ears.get('watcher')?.client.watch([subject.id]);
    await send(whole, 204, owner, 'PUT', `${at}/${subject.id}/roles/${role.id}`);
    await ended(ownerEar, 'MEMBER_UPDATE', subject.id);
    await send(whole, 204, owner, 'DELETE', `${at}/${subject.id}`);
    await ended(ownerEar, 'MEMBER_REMOVE', subject.id);
    // A change of the server ends it for all who are in it.
    await send(whole, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name: `end ${server.id}` });
    for (const [name, ear] of ears)
      if (name !== 'subject' && name !== 'bot') await ear.hears(({ t, d }) => t === 'SERVER_UPDATE' && d.id === server.id);
    await ended(ears.get('bot') ?? expect.fail(), 'MEMBER_REMOVE', subject.id);
    const received = [...ears].map(([name, ear]): [string, string[]] => [
      name,
      ear.heard.filter(({ t, d }) => names.includes(t) && JSON.stringify(d).includes(subject.id)).map(({ t }) => t),
    ]);
    await Promise.all([...ears.values()].map(({ client }) => client.close()));
    return Object.fromEntries(received);
  };

  it(`${limits.smallServerMembers} members: everybody receives them`, async () => {
    const received = await eventsIn(limits.smallServerMembers - 1);
    expect(received).to.deep.equal({ owner: names, kicker: names, member: names, watcher: names, bot: names, subject: ['MEMBER_UPDATE'] });
  });

  it('that a server has another owner is received by everybody, however many there are', async () => {
    const server = await makeServer(whole, owner);
    const [heir, member] = [await makeMember(whole, owner, server.id), await makeMember(whole, owner, server.id)];
    await fillServer(whole.platform, server.id, limits.smallServerMembers, 'crowd');
    const ear = await listenAs(whole, member.token);
    await send(whole, 200, owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: heir.id });
    const { d } = await ear.hears(({ t, d: { member: shown } }) => t === 'MEMBER_UPDATE' && (shown as Member).user.id === heir.id);
    expect((d.member as Member).isOwner).to.equal(true);
    await ear.client.close();
  });

  it('more members: the member, managers, watchers and bots that asked receive them', async () => {
    const received = await eventsIn(limits.smallServerMembers + 1);
    expect(received).to.deep.equal({
      owner: names,
      kicker: names,
      member: [],
      watcher: ['MEMBER_UPDATE', 'MEMBER_REMOVE'],
      bot: names,
      subject: ['MEMBER_UPDATE'],
    });
  });
});
