import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { changeChannel, copiesOf, type Following, makeFollowing } from '../harness/crosspost.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents, startParlance, type TestParlance } from '../harness/parlance.ts';

describe('crosspost with all roles', () => {
  let parlance: TestParlance;
  let following: Following;
  let sourceBot: EventRecorder;
  let targetBot: EventRecorder;
  let targetOwner: EventRecorder;
  let news: string;
  const followers = 60;

  before(async () => {
    parlance = await startParlance();
    following = await makeFollowing(parlance.platform, followers);
    ({ news } = following);
    const [from, to] = [following.from.bots[0]?.token, following.to.bots[0]?.token];
    [sourceBot, targetBot, targetOwner] = await Promise.all([
      recordEvents(parlance, String(from), ['MESSAGE_CREATE', 'MESSAGE_UPDATE']),
      recordEvents(parlance, String(to)),
      recordEvents(parlance, following.to.ownerToken),
    ]);
  });
  after(async () => {
    await Promise.all([sourceBot, targetBot, targetOwner].map((recorder) => recorder?.client.close()));
    await parlance?.close();
  });

  const as = (): string => `Bearer ${following.from.ownerToken}`;
  const post = async (content: string): Promise<string> => {
    const { body } = await parlance.call<Message>('POST', `/api/channels/${news}/messages`, { as: as(), body: { content } });
    return body.id;
  };
  const crosspost = async (id: string): Promise<number> =>
    (await parlance.call('POST', `/api/channels/${news}/messages/${id}/crosspost`, { as: as() })).status;
  const isMessage =
    (t: string, content: string, channelId?: string) =>
    ({ t: name, d }: Dispatch): boolean =>
      name === t && d.content === content && (channelId === undefined || d.channelId === channelId);
  /** Waits until `recorder` has received the copy of every following channel; returns all copies that it received. */
  const copiesReceivedBy = async (recorder: EventRecorder, content: string): Promise<Dispatch[]> => {
    await Promise.all(following.targets.map((channelId) => recorder.waitFor(isMessage('MESSAGE_CREATE', content, channelId))));
    return recorder.received.filter(isMessage('MESSAGE_CREATE', content));
  };

  it('30 concurrent crossposts of one message: one returns 200, and bots and people of the target server receive each copy once', async () => {
    const content = `@everyone <@${following.to.ownerId}> <@&${following.to.serverId}> <@${following.to.bots[0]?.id}>`;
    const id = await post(content);
    const statuses = await Promise.all(Array.from({ length: 30 }, () => crosspost(id)));
    expect(statuses.filter((status) => status === 200)).to.have.length(1);
    expect(statuses.filter((status) => status === 400)).to.have.length(29);
    for (const recorder of [targetBot, targetOwner]) {
      const received = await copiesReceivedBy(recorder, content);
      expect(received.map(({ d }) => d.channelId)).to.have.members(following.targets);
      for (const { d } of received)
        expect(d).to.deep.include({
          serverId: following.to.serverId,
          author: { id: news, username: 'world', displayName: 'world #channel-0', avatarUrl: null },
          mentions: [],
          mentionRoles: [],
          mentionEveryone: false,
          crossposted: false,
        });
    }
    expect(await copiesOf(parlance.platform, id)).to.have.length(followers);
  });

  it('sends MESSAGE_UPDATE and no copies to the source server', async () => {
    const id = await post('update');
    await crosspost(id);
    const { d } = await sourceBot.waitFor(isMessage('MESSAGE_UPDATE', 'update'));
    expect(d).to.include({ id, crossposted: true, editedAt: null, channelId: news });
    await copiesReceivedBy(targetBot, 'update');
    expect(sourceBot.received.filter(isMessage('MESSAGE_CREATE', 'update'))).to.have.length(1);
  });

  it('400 while the source is a text channel; its followers receive crossposts again afterwards', async () => {
    const { serverId } = following.from;
    await changeChannel(parlance.platform, serverId, news, { kind: 'text' });
    const id = await post('while text');
    expect(await crosspost(id)).to.equal(400);
    await changeChannel(parlance.platform, serverId, news, { kind: 'announcement' });
    const next = await post('news again');
    expect(await crosspost(next)).to.equal(200);
    await copiesReceivedBy(targetBot, 'news again');
    expect(await copiesOf(parlance.platform, id)).to.deep.equal([]);
  });

  it('the sweep continues a crosspost whose job was lost', async () => {
    const id = await post('lost');
    await parlance.platform.db.messages.updateOne(
      { _id: id },
      { $set: { crossposted: true, crosspostAt: new Date(Date.now() - 11_000), crosspostTo: following.targets[9] as string } },
    );
    const rest = following.targets.slice(10);
    await Promise.all(rest.map((channelId) => targetBot.waitFor(isMessage('MESSAGE_CREATE', 'lost', channelId))));
    await waitUntil(
      async () => (await parlance.platform.db.messages.findOne({ _id: id }))?.crosspostAt === undefined,
      'the crosspost is complete',
    );
    expect((await copiesOf(parlance.platform, id)).map(({ channelId }) => channelId)).to.deep.equal(rest);
  });
});
