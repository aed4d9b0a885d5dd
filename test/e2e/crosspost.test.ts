import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { changeChannel, copiesOf, type Following, makeFollowing } from '../harness/crosspost.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

describe('crosspost, through all roles', () => {
  let whole: Whole;
  let following: Following;
  let sourceBot: Ear;
  let targetBot: Ear;
  let targetOwner: Ear;
  let news: string;
  const followers = 60;

  before(async () => {
    whole = await startWhole();
    following = await makeFollowing(whole.platform, followers);
    ({ news } = following);
    const [from, to] = [following.from.bots[0]?.token, following.to.bots[0]?.token];
    [sourceBot, targetBot, targetOwner] = await Promise.all([
      listenAs(whole, String(from), ['MESSAGE_CREATE', 'MESSAGE_UPDATE']),
      listenAs(whole, String(to)),
      listenAs(whole, following.to.ownerToken),
    ]);
  });
  after(async () => {
    await Promise.all([sourceBot, targetBot, targetOwner].map((ear) => ear?.client.close()));
    await whole?.close();
  });

  const as = (): string => `Bearer ${following.from.ownerToken}`;
  const post = async (content: string): Promise<string> => {
    const { body } = await whole.call<Message>('POST', `/api/channels/${news}/messages`, { as: as(), body: { content } });
    return body.id;
  };
  const crosspost = async (id: string): Promise<number> =>
    (await whole.call('POST', `/api/channels/${news}/messages/${id}/crosspost`, { as: as() })).status;
  const says =
    (t: string, content: string, channelId?: string) =>
    ({ t: name, d }: Dispatch): boolean =>
      name === t && d.content === content && (channelId === undefined || d.channelId === channelId);
  /** Waits until each following channel's copy is heard; answers what was heard. */
  const heardEverywhere = async (ear: Ear, content: string): Promise<Dispatch[]> => {
    await Promise.all(following.targets.map((channelId) => ear.hears(says('MESSAGE_CREATE', content, channelId))));
    return ear.heard.filter(says('MESSAGE_CREATE', content));
  };

  it('30 crossposts of one message at once: one 200, one set of copies, heard once by bots and people of the following server', async () => {
    const content = `@everyone <@${following.to.ownerId}> <@&${following.to.serverId}> <@${following.to.bots[0]?.id}>`;
    const id = await post(content);
    const statuses = await Promise.all(Array.from({ length: 30 }, () => crosspost(id)));
    expect(statuses.filter((status) => status === 200)).to.have.length(1);
    expect(statuses.filter((status) => status === 400)).to.have.length(29);
    for (const ear of [targetBot, targetOwner]) {
      const heard = await heardEverywhere(ear, content);
      expect(heard.map(({ d }) => d.channelId)).to.have.members(following.targets);
      for (const { d } of heard)
        expect(d).to.deep.include({
          serverId: following.to.serverId,
          author: { id: news, username: 'world', displayName: 'world #channel-0', avatarUrl: null },
          mentions: [],
          mentionRoles: [],
          mentionEveryone: false,
          crossposted: false,
        });
    }
    expect(await copiesOf(whole.platform, id)).to.have.length(followers);
  });

  it('the source’s server hears MESSAGE_UPDATE, and none of the copies', async () => {
    const id = await post('update');
    await crosspost(id);
    const { d } = await sourceBot.hears(says('MESSAGE_UPDATE', 'update'));
    expect(d).to.include({ id, crossposted: true, editedAt: null, channelId: news });
    await heardEverywhere(targetBot, 'update');
    expect(sourceBot.heard.filter(says('MESSAGE_CREATE', 'update'))).to.have.length(1);
  });

  it('nothing is delivered while the channel is a text channel; rows survive, and serve again afterwards', async () => {
    const { serverId } = following.from;
    await changeChannel(whole.platform, serverId, news, { kind: 'text' });
    const id = await post('while text');
    expect(await crosspost(id)).to.equal(400);
    await changeChannel(whole.platform, serverId, news, { kind: 'announcement' });
    const next = await post('news again');
    expect(await crosspost(next)).to.equal(200);
    await heardEverywhere(targetBot, 'news again');
    expect(await copiesOf(whole.platform, id)).to.deep.equal([]);
  });

  it('a crosspost whose job was lost goes on by the sweep', async () => {
    const id = await post('lost');
    await whole.platform.db.messages.updateOne(
      { _id: id },
      { $set: { crossposted: true, crosspostAt: new Date(Date.now() - 11_000), crosspostTo: following.targets[9] } },
    );
    const rest = following.targets.slice(10);
    await Promise.all(rest.map((channelId) => targetBot.hears(says('MESSAGE_CREATE', 'lost', channelId))));
    await until(async () => (await whole.platform.db.messages.findOne({ _id: id }).lean())?.crosspostAt === undefined, 'the end');
    expect((await copiesOf(whole.platform, id)).map(({ channelId }) => channelId)).to.deep.equal(rest);
  });
});
