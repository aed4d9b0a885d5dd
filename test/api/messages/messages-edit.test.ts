import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { makeChannel, withEveryone } from '../../harness/factories.ts';
import { refused, refusedWithout } from '../../harness/requests.ts';
import { storedMessage, useMessages } from './message-fixture.ts';

describe('editing and deleting messages', () => {
  const { api, owner, server, bot, other, path, post, edit, remove } = useMessages();

  describe('PATCH /api/channels/{channelId}/messages/{messageId}', () => {
    it('changes the given fields only, and sets editedAt', async () => {
      const { id } = await post({ content: 'a', embeds: [{ title: 't' }] });
      const withContent = await edit(id, { content: 'b' });
      expect([withContent.content, withContent.embeds.length]).to.deep.equal(['b', 1]);
      expect(withContent.editedAt).to.be.a('string');
      expect(await edit(id, { embeds: [] })).to.deep.include({ content: 'b', embeds: [] });
    });

    it('200 unchanged for {}', async () => {
      const { id } = await post('a');
      expect(await edit(id, {})).to.include({ editedAt: null, content: 'a' });
    });

    it('400 when neither content nor an embed would be left', async () => {
      for (const [body, change] of [
        [{ content: 'a' }, { content: '' }],
        [{ embeds: [{ title: 't' }] }, { embeds: [] }],
      ])
        await refused(api, [400, 'invalid_request'], bot, 'PATCH', path((await post(body as object)).id), change);
    });

    it('two parallel edits never leave a message empty', async () => {
      for (let round = 0; round < 10; round++) {
        const { id } = await post({ content: 'a', embeds: [{ title: 't' }] });
        const edits = [{ content: '' }, { embeds: [] }].map((body) => api.call('PATCH', path(id), { as: bot.as, body }));
        expect((await Promise.all(edits)).map(({ status }) => status)).to.have.members([200, 400]);
      }
    });

    it('computes mentions again', async () => {
      const { id } = await post('a');
      expect((await edit(id, { content: `<@${owner.id}>` })).mentions).to.deep.equal([owner.id]);
    });

    it('403 not_author for a message of another, also for the owner; 404 in another channel', async () => {
      const { id } = await post('a');
      await refused(api, [403, 'not_author'], owner, 'PATCH', path(id), { content: 'b' });
      const elsewhere = await makeChannel(api, owner, server.id);
      await refused(api, [404, 'not_found'], bot, 'PATCH', `/api/channels/${elsewhere.id}/messages/${id}`, { content: 'b' });
    });

    it('text that looks like an operator or a variable is stored as typed', async () => {
      for (const word of ['$answer', '$$NOW', '$set']) {
        const { id } = await post(word);
        expect((await edit(id, { content: `${word} ${word}` })).content).to.equal(`${word} ${word}`);
      }
    });
  });

  describe('DELETE /api/channels/{channelId}/messages/{messageId}', () => {
    it('204 for one’s own message without Send Messages, then 404', async () => {
      const { id } = await post('a');
      await withEveryone(api, owner, server.id, permissionBits['View Channel'], () => remove(id));
      await refused(api, [404, 'not_found'], bot, 'DELETE', path(id));
    });

    it('403 missing_permission for a message of another, 204 with Manage Messages', async () => {
      const { id } = await post('a');
      await refusedWithout(api, 'Manage Messages', other, 'DELETE', path(id));
      await remove(id, owner);
    });

    it('the tombstone has no content and no mentions', async () => {
      const { id } = await post(`secret <@${owner.id}>`);
      await remove(id);
      expect(await storedMessage(api, id)).to.deep.include({ content: '', mentions: [], deleted: true });
    });
  });
});
