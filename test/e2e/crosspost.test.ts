import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { copiesOf, makeFollowing } from '../harness/crosspost.ts';
import { type EventRecorder, recordEvents, startParlance } from '../harness/parlance.ts';
import { botOf } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';

describe('crosspost with all roles', () => {
  const followers = 60;
  const parlance = use(() => startParlance());
  const following = make(() => makeFollowing(parlance.platform, followers));
  const sourceBot = make(() => recordEvents(parlance, botOf(following.from).token, ['MESSAGE_CREATE', 'MESSAGE_UPDATE']));
  const targetBot = make(() => recordEvents(parlance, botOf(following.to).token));
  const targetOwner = make(() => recordEvents(parlance, following.to.ownerToken));

  const as = (): string => `Bearer ${following.from.ownerToken}`;
  const post = async (content: string): Promise<string> => {
    const { body } = await parlance.call<Message>('POST', `/api/channels/${following.news}/messages`, { as: as(), body: { content } });
    return body.id;
  };
  const isMessage =
    (t: string, content: string, channelId?: string) =>
    ({ t: name, d }: Dispatch): boolean =>
      name === t && d.content === content && (channelId === undefined || d.channelId === channelId);
  /** Waits until `recorder` has received the copy of every following channel; returns all copies that it received. */
  const copiesReceivedBy = async (recorder: EventRecorder, content: string): Promise<Dispatch[]> => {
    await Promise.all(following.targets.map((channelId) => recorder.waitFor(isMessage('MESSAGE_CREATE', content, channelId))));
    return recorder.received.filter(isMessage('MESSAGE_CREATE', content));
  };

  it('bots and people of the target server receive each copy once; the source server receives MESSAGE_UPDATE and no copy', async () => {
    const content = `@everyone <@${following.to.ownerId}> <@&${following.to.serverId}> <@${following.to.bots[0]?.id}>`;
    const id = await post(content);
    expect((await parlance.call('POST', `/api/channels/${following.news}/messages/${id}/crosspost`, { as: as() })).status).to.equal(200);
    const { d: update } = await sourceBot.waitFor(isMessage('MESSAGE_UPDATE', content));
    expect(update).to.include({ id, crossposted: true, editedAt: null, channelId: following.news });
    for (const recorder of [targetBot, targetOwner]) {
      const received = await copiesReceivedBy(recorder, content);
      expect(received.map(({ d }) => d.channelId)).to.have.members(following.targets);
      for (const { d } of received)
        expect(d).to.deep.include({
          serverId: following.to.serverId,
          author: { id: following.news, username: 'world', displayName: 'world #channel-0', avatarUrl: null },
          mentions: [],
          mentionRoles: [],
          mentionEveryone: false,
          crossposted: false,
        });
    }
    expect(await copiesOf(parlance.platform, id)).to.have.length(followers);
    expect(sourceBot.received.filter(isMessage('MESSAGE_CREATE', content))).to.have.length(1);
  });
});
