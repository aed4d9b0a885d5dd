import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Answer, TestApi } from '../../harness/api.ts';
import type { World } from '../../harness/world.ts';
import { type Failure, type MessageFixture, messageFixture, type Shown } from './message-fixture.ts';

describe('editing and deleting messages', () => {
  let api: TestApi;
  let world: World;
  let bot: string;
  let other: string;
  let person: string;
  let path: string;
  let post: MessageFixture['post'];
  let withPermissions: MessageFixture['withPermissions'];

  before(async () => {
    ({ api, world, bot, other, person, path, post, withPermissions } = await messageFixture());
  });
  after(() => api.close());

  describe('PATCH /api/channels/{channelId}/messages/{messageId}', () => {
    const edit = <T = Shown>(id: string, body: unknown, as = bot): Promise<Answer<T>> =>
      api.call<T>('PATCH', `${path}/${id}`, { as, body });

    it('changes what is given, keeps the rest, sets editedAt', async () => {
      const { body } = await post({ content: 'a', embeds: [{ title: 't' }] });
      const content = await edit(body.id, { content: 'b' });
      expect([content.body.content, content.body.embeds.length]).to.deep.equal(['b', 1]);
      expect(content.body.editedAt).to.be.a('string');
      const embeds = await edit(body.id, { embeds: [] });
      expect([embeds.body.content, embeds.body.embeds]).to.deep.equal(['b', []]);
    });
    it('200 unchanged for {}', async () => {
      const { body } = await post({ content: 'a' });
      const answer = await edit(body.id, {});
      expect([answer.status, answer.body.editedAt, answer.body.content]).to.deep.equal([200, null, 'a']);
    });
    it('400 when nothing would be left', async () => {
      const { body } = await post({ content: 'a' });
      expect((await edit(body.id, { content: '' })).status).to.equal(400);
      const embed = await post({ embeds: [{ title: 't' }] });
      expect((await edit(embed.body.id, { embeds: [] })).status).to.equal(400);
    });
    it('two edits at once never leave nothing together', async () => {
      for (let round = 0; round < 10; round++) {
        const { body } = await post({ content: 'a', embeds: [{ title: 't' }] });
        const [one, two] = await Promise.all([edit(body.id, { content: '' }), edit(body.id, { embeds: [] })]);
        expect([one.status, two.status].sort((a, b) => a - b)).to.deep.equal([200, 400]);
      }
    });
    it('recomputes mentions', async () => {
      const { body } = await post({ content: 'a' });
      expect((await edit(body.id, { content: `<@${world.ownerId}>` })).body.mentions).to.deep.equal([world.ownerId]);
    });
    it('403 not_author for another’s, even for the owner; 404 in another channel', async () => {
      const { body } = await post({ content: 'a' });
      const answer = await edit<Failure>(body.id, { content: 'b' }, person);
      expect([answer.status, answer.body.code]).to.deep.equal([403, 'not_author']);
      expect(
        (await api.call('PATCH', `/api/channels/${world.channelIds[1]}/messages/${body.id}`, { as: bot, body: { content: 'b' } })).status,
      ).to.equal(404);
    });
    it('keeps text that looks like an operator or a variable as it was typed', async () => {
      for (const content of ['$answer', '$$NOW', '$set']) {
        const { body } = await post({ content });
        expect((await edit(body.id, { content: `${content} ${content}` })).body.content).to.equal(`${content} ${content}`);
      }
    });
  });

  describe('DELETE /api/channels/{channelId}/messages/{messageId}', () => {
    const remove = (id: string, as: string): Promise<Answer<Failure>> => api.call<Failure>('DELETE', `${path}/${id}`, { as });

    it('204 for one’s own without Send Messages; then 404', async () => {
      const { body } = await post({ content: 'a' });
      await withPermissions(permissionBits['View Channel'], async () => {
        expect((await remove(body.id, bot)).status).to.equal(204);
      });
      expect((await remove(body.id, bot)).status).to.equal(404);
    });
    it('403 missing_permission for another’s, 204 with Manage Messages', async () => {
      const { body } = await post({ content: 'a' });
      const answer = await remove(body.id, other);
      expect([answer.status, answer.body.missing]).to.deep.equal([403, ['Manage Messages']]);
      expect((await remove(body.id, person)).status).to.equal(204);
    });
    it('leaves nothing of the message but its ids', async () => {
      const { body } = await post({ content: `secret <@${world.ownerId}>` });
      await remove(body.id, bot);
      const grave = await api.platform.db.messages.findOne({ _id: body.id }).lean();
      expect(grave).to.deep.include({ content: '', mentions: [], deleted: true });
    });
  });
});
