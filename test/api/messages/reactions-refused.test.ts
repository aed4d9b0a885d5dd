import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { UserFace } from '../../../lib/contract/user.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
  word,
} from '../../harness/factories.ts';

const methods = ['PUT', 'DELETE', 'GET'] as const;
const thumb = '%F0%9F%91%8D';
const view = 1;

describe('reactions: where and with what', () => {
  let api: TestApi;
  let owner: Caller;
  let member: Caller;
  let outsider: Caller;
  let server: Place;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    member = await makeMember(api, owner, server.id);
    outsider = await makePerson(api);
  });
  after(() => api.close());

  const post = async (channelId: string, as = owner): Promise<string> =>
    (await send<Message>(api, 201, as, 'POST', `/api/channels/${channelId}/messages`, { content: 'x' })).id;
  const at = (channelId: string, messageId: string, emoji = thumb): string =>
    `/api/channels/${channelId}/messages/${messageId}/reactions/${emoji}`;
  const shown = async (as: Caller, channelId: string, messageId: string) =>
    (await send<Message>(api, 200, as, 'GET', `/api/channels/${channelId}/messages/${messageId}`)).reactions;

  describe('{emoji}', () => {
    let id: string;
    before(async () => {
      id = await post(server.general);
    });
    const wrong: [what: string, segment: string][] = [
      ['a malformed percent code', '%zz'],
      ['half a percent code', `${thumb}%`],
      ['broken UTF-8', '%F0%9F%91'],
      ['a malformed code behind an emoji', `${thumb}%zz`],
      ['an emoji that was encoded twice', encodeURIComponent(thumb)],
      ['a custom one that was encoded twice', 'a%253A1'],
      ['plain text', 'thumbsup'],
      ['a digit', '5'],
      ['two emoji', thumb + thumb],
      ['blanks', '%20%20'],
      ['a slash', '%2F'],
      ['nothing visible', '%00'],
      ['a custom one without its id', 'a:'],
      ['a custom id that is no number', 'a:b'],
      ['an operator', '%24ne'],
    ];
    for (const [what, segment] of wrong)
      it(`400 invalid_request for ${what}`, async () => {
        for (const method of methods) await refused(api, [400, 'invalid_request'], owner, method, at(server.general, id, segment));
        expect(await shown(owner, server.general, id)).to.deep.equal([]);
      });

    it('a custom emoji with its colon encoded or not is the same', async () => {
      for (const segment of ['a:1', 'a%3A1', 'a%3a1']) await send(api, 204, owner, 'PUT', at(server.general, id, segment));
      expect(await shown(owner, server.general, id)).to.deep.equal([{ emoji: 'a:1', count: 1, me: true }]);
    });

    it('404 for no emoji at all', () => refused(api, [404, 'not_found'], owner, 'PUT', at(server.general, id, '')));
  });

  describe('{channelId} and {messageId}', () => {
    it('404 for a message that is unknown, malformed, deleted or of another channel, whatever one may do there', async () => {
      const other = await makeChannel(api, owner, server.id);
      const [elsewhere, gone] = [await post(other.id), await post(server.general)];
      await send(api, 204, owner, 'PUT', at(other.id, elsewhere));
      await send(api, 204, owner, 'PUT', at(server.general, gone));
      await send(api, 204, owner, 'DELETE', `/api/channels/${server.general}/messages/${gone}`);
      for (const method of methods)
        for (const id of [elsewhere, gone, '1000000000000000000', 'x', '%24ne'])
          await refused(api, [404, 'not_found'], owner, method, at(server.general, id));
      expect(await shown(owner, other.id, elsewhere)).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
    });

    it('404 outside the server and for an unknown channel, 403 missing_permission without View Channel', async () => {
      const hidden = await makeChannel(api, owner, server.id);
      const id = await post(hidden.id);
      await setOverwrite(api, owner, hidden.id, server.id, 0, view);
      for (const method of methods) {
        await refused(api, [404, 'not_found'], outsider, method, at(hidden.id, id));
        await refused(api, [404, 'not_found'], owner, method, at('1000000000000000000', id));
        const { missing } = await refused(api, [403, 'missing_permission'], member, method, at(hidden.id, id));
        expect(missing).to.deep.equal(['View Channel']);
        await refused(api, [401, 'unauthorized'], null, method, at(hidden.id, id));
      }
    });

    it('400 invalid_request in a category or voice channel', async () => {
      for (const kind of ['category', 'voice'] as const) {
        const { id } = await makeChannel(api, owner, server.id, { kind });
        for (const method of methods) await refused(api, [400, 'invalid_request'], owner, method, at(id, '1000000000000000000'));
      }
    });

    it('in a DM both of the two react, nobody else finds it', async () => {
      const { id: dmId } = await send<DmChannel>(api, 201, owner, 'POST', '/api/users/@me/channels', { recipientId: member.id });
      const id = await post(dmId);
      await send(api, 204, member, 'PUT', at(dmId, id));
      await send(api, 204, owner, 'PUT', at(dmId, id));
      expect(await shown(owner, dmId, id)).to.deep.equal([{ emoji: '👍', count: 2, me: true }]);
      const listed = await send<UserFace[]>(api, 200, owner, 'GET', at(dmId, id));
      expect(listed.map((one) => one.id)).to.deep.equal([member.id, owner.id]);
      for (const method of methods) await refused(api, [404, 'not_found'], outsider, method, at(dmId, id));
      await send(api, 204, member, 'DELETE', at(dmId, id));
      expect(await shown(member, dmId, id)).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
    });

    it('a thread goes by its parent’s permissions, and reacting does not wake it', async () => {
      const parent = await makeChannel(api, owner, server.id);
      const threadId = api.platform.ids.next();
      const { channels } = api.platform.db;
      const stored = await channels.findOne({ _id: parent.id }, { slot: 0 }).lean();
      await channels.collection.insertOne({ ...stored, _id: threadId, kind: 'thread', parentId: parent.id, name: word('thread') } as never);
      const id = await post(threadId);
      await channels.collection.updateOne({ _id: threadId as never }, { $set: { archived: true } });
      await send(api, 204, member, 'PUT', at(threadId, id));
      expect(await shown(owner, threadId, id)).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
      expect((await channels.findOne({ _id: threadId }).lean())?.archived).to.equal(true);
      await setOverwrite(api, owner, parent.id, server.id, 0, view);
      for (const method of methods) await refused(api, [403, 'missing_permission'], member, method, at(threadId, id));
    });
  });
});
