import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import type { Member } from '../../lib/contract/member.ts';
import { giveRole, join, makeBot, makeMember, makePerson, makeRole, makeServer, memberCountOf } from '../harness/factories.ts';
import { type EventRecorder, recordEvents, startParlance } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { fillServer } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';

const names = ['MEMBER_ADD', 'MEMBER_UPDATE', 'MEMBER_REMOVE'];

describe('Events: members, by the size of the server', () => {
  const parlance = use(startParlance);
  const owner = make(() => makePerson(parlance));

  /** Returns which member events of `subject` each session received: its join, a role, and its removal. */
  const collectEvents = async (members: number): Promise<Record<string, string[]>> => {
    const server = await makeServer(parlance, owner);
    const role = await makeRole(parlance, owner, server.id);
    const subject = await makePerson(parlance);
    const callers: Record<string, Caller> = {
      owner,
      kicker: await makeMember(parlance, owner, server.id, 1 << 10),
      member: await makeMember(parlance, owner, server.id),
      watcher: await makeMember(parlance, owner, server.id),
      bot: await makeBot(parlance, owner, server.id),
    };
    const memberCount = (await memberCountOf(parlance, server.id)) ?? expect.fail();
    await fillServer(parlance.platform, server.id, members - memberCount, `filler${server.id}`);
    const recorders = new Map<string, EventRecorder>();
    for (const [name, { token }] of Object.entries({ ...callers, subject }))
      recorders.set(name, await recordEvents(parlance, token, names));
    const at = `/api/servers/${server.id}/members`;
    const waitForEvent = (recorder: EventRecorder, event: string, userId: string): Promise<unknown> =>
      recorder.waitFor(
        ({ t, d }) => t === event && d.serverId === server.id && (d.userId ?? (d.member as { user: Caller }).user.id) === userId,
      );
    const ownerRecorder = recorders.get('owner') ?? expect.fail();
    // From the first event on, the node has loaded what decides who receives the others.
    await send(parlance, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name: `start ${server.id}` });
    for (const [name, recorder] of recorders)
      if (name !== 'subject' && name !== 'bot') await recorder.waitFor(({ t, d }) => t === 'SERVER_UPDATE' && d.id === server.id);
    await join(parlance, owner, server.id, subject);
    await waitForEvent(ownerRecorder, 'MEMBER_ADD', subject.id);
    // Only members can be watched.
    await recorders.get('watcher')?.client.watch([subject.id]);
    await giveRole(parlance, owner, server.id, subject.id, role.id);
    await waitForEvent(ownerRecorder, 'MEMBER_UPDATE', subject.id);
    await send(parlance, 204, owner, 'DELETE', `${at}/${subject.id}`);
    await waitForEvent(ownerRecorder, 'MEMBER_REMOVE', subject.id);
    // A change of the server marks the end for all of its members.
    await send(parlance, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name: `end ${server.id}` });
    for (const [name, recorder] of recorders)
      if (name !== 'subject' && name !== 'bot')
        await recorder.waitFor(({ t, d }) => t === 'SERVER_UPDATE' && d.name === `end ${server.id}`);
    await waitForEvent(recorders.get('bot') ?? expect.fail(), 'MEMBER_REMOVE', subject.id);
    const received = [...recorders].map(([name, recorder]): [string, string[]] => [
      name,
      recorder.received.filter(({ t, d }) => names.includes(t) && JSON.stringify(d).includes(subject.id)).map(({ t }) => t),
    ]);
    await Promise.all([...recorders.values()].map(({ client }) => client.close()));
    return Object.fromEntries(received);
  };

  it(`${limits.memberEventsToAllMembers} members: everyone receives them`, async () => {
    const received = await collectEvents(limits.memberEventsToAllMembers - 1);
    expect(received).to.deep.equal({ owner: names, kicker: names, member: names, watcher: names, bot: names, subject: ['MEMBER_UPDATE'] });
  });

  it('everyone receives a change of the owner, in a server of any size', async () => {
    const server = await makeServer(parlance, owner);
    const [heir, member] = [await makeMember(parlance, owner, server.id), await makeMember(parlance, owner, server.id)];
    await fillServer(parlance.platform, server.id, limits.memberEventsToAllMembers, 'crowd');
    const recorder = await recordEvents(parlance, member.token);
    await send(parlance, 200, owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: heir.id });
    const { d } = await recorder.waitFor(({ t, d: { member: shown } }) => t === 'MEMBER_UPDATE' && (shown as Member).user.id === heir.id);
    expect((d.member as Member).isOwner).to.equal(true);
  });

  it('more members: only the member, managers, watchers and opted-in bots receive them', async () => {
    const received = await collectEvents(limits.memberEventsToAllMembers + 1);
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
