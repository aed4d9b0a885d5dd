import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { UserSummary } from '../../../lib/contract/user.ts';
import { makeChannel, makeThread, openDm, postMessage, setOverwrite, unknownId } from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { make, newMember, useServer } from '../../harness/use.ts';

const methods = ['PUT', 'DELETE', 'GET'] as const;
const thumb = '%F0%9F%91%8D';
const viewChannel = permissionBits['View Channel'];

describe('paths of reactions', () => {
  const { api, owner, server, member } = useServer({ member: newMember() });

  const pathOf = (channelId: string, messageId: string, emoji = thumb): string =>
    `/api/channels/${channelId}/messages/${messageId}/reactions/${emoji}`;
  const post = async (channelId: string): Promise<string> => (await postMessage(api, owner, channelId)).id;
  const add = (as: Caller, ...path: Parameters<typeof pathOf>): Promise<void> => send(api, 204, as, 'PUT', pathOf(...path));
  const shown = async (as: Caller, channelId: string, messageId: string): Promise<Message['reactions']> =>
    (await send<Message>(api, 200, as, 'GET', `/api/channels/${channelId}/messages/${messageId}`)).reactions;

  describe('{emoji}', () => {
    const message = make(() => postMessage(api, owner, server.general));
    const bad: [what: string, segment: string][] = [
      ['a malformed percent code', '%zz'],
      ['half a percent code', `${thumb}%`],
      ['broken UTF-8', '%F0%9F%91'],
      ['a malformed percent code after an emoji', `${thumb}%zz`],
      ['an emoji that was encoded twice', encodeURIComponent(thumb)],
      ['a custom emoji that was encoded twice', 'a%253A1'],
      ['plain text', 'thumbsup'],
      ['a slash', '%2F'],
      ['nothing visible', '%00'],
      ['an operator', '%24ne'],
    ];
    for (const [what, segment] of bad)
      it(`400 invalid_request for ${what}`, async () => {
        for (const method of methods)
          await refused(api, [400, 'invalid_request'], owner, method, pathOf(server.general, message.id, segment));
        expect(await shown(owner, server.general, message.id)).to.deep.equal([]);
      });

    it('the colon of a custom emoji may be encoded', async () => {
      for (const segment of ['a:1', 'a%3A1', 'a%3a1']) await add(owner, server.general, message.id, segment);
      expect(await shown(owner, server.general, message.id)).to.deep.equal([{ emoji: 'a:1', count: 1, me: true }]);
    });

    it('404 without an emoji', () => refused(api, [404, 'not_found'], owner, 'PUT', pathOf(server.general, message.id, '')));
  });

  describe('{channelId} and {messageId}', () => {
    it('404 for a message that is unknown, deleted or of another channel, also for the owner', async () => {
      const other = await makeChannel(api, owner, server.id);
      const [elsewhere, gone] = [await post(other.id), await post(server.general)];
      await add(owner, other.id, elsewhere);
      await add(owner, server.general, gone);
      await send(api, 204, owner, 'DELETE', `/api/channels/${server.general}/messages/${gone}`);
      for (const method of methods)
        for (const id of [elsewhere, gone, unknownId]) await refused(api, [404, 'not_found'], owner, method, pathOf(server.general, id));
      expect(await shown(owner, other.id, elsewhere)).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
    });

    it('400 invalid_request in a category or voice channel', async () => {
      for (const kind of ['category', 'voice'] as const) {
        const { id } = await makeChannel(api, owner, server.id, { kind });
        for (const method of methods) await refused(api, [400, 'invalid_request'], owner, method, pathOf(id, unknownId));
      }
    });

    it('in a DM both people can react', async () => {
      const { id: dmId } = await openDm(api, owner, member);
      const id = await post(dmId);
      await add(member, dmId, id);
      await add(owner, dmId, id);
      expect(await shown(owner, dmId, id)).to.deep.equal([{ emoji: '👍', count: 2, me: true }]);
      const listed = await send<UserSummary[]>(api, 200, owner, 'GET', pathOf(dmId, id));
      expect(listed.map((one) => one.id)).to.deep.equal([member.id, owner.id]);
      await send(api, 204, member, 'DELETE', pathOf(dmId, id));
      expect(await shown(member, dmId, id)).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
    });

    it('a thread has the permissions of its parent, and a reaction does not unarchive it', async () => {
      const parent = await makeChannel(api, owner, server.id);
      const { id: threadId } = await makeThread(api, owner, parent.id);
      const id = await post(threadId);
      await send(api, 200, owner, 'PATCH', `/api/channels/${threadId}`, { archived: true });
      await add(member, threadId, id);
      expect(await shown(owner, threadId, id)).to.deep.equal([{ emoji: '👍', count: 1, me: false }]);
      expect((await api.platform.db.channels.findOne({ _id: threadId }))?.archived).to.equal(true);
      await setOverwrite(api, owner, parent.id, server.id, 0, viewChannel);
      for (const method of methods) await refused(api, [403, 'missing_permission'], member, method, pathOf(threadId, id));
    });
  });
});
